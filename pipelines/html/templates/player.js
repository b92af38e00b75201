"use strict";
// Draws the play position over each mel. A click on a mel plays from there. Only one clip plays at a time.
const players = [...document.querySelectorAll("audio")];
for (const player of players) {
  const mel = player.closest(".clip").querySelector(".mel");
  if (!mel) continue;
  const line = mel.querySelector(".playhead");
  const follow = () => {
    line.style.display = "block";
    line.style.left = `${(100 * player.currentTime) / Number(mel.dataset.seconds)}%`;
    if (!player.paused) requestAnimationFrame(follow);
  };
  player.addEventListener("play", () => {
    for (const other of players) if (other !== player) other.pause();
    follow();
  });
  player.addEventListener("seeked", follow);
  mel.addEventListener("click", (event) => {
    const box = mel.getBoundingClientRect();
    player.currentTime = ((event.clientX - box.left) / box.width) * Number(mel.dataset.seconds);
    player.play();
  });
}
