"""The Parquet tables of datasets: loading, joining and comparing, without pages or terminal output; and growing CSV."""
