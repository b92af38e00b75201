"""Words before a number that names a thing, such as "serial number": its digits are said one by one, or in pairs.

Numbers of four digits or more behind these words are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

# language -> pattern, whatever the case of its letters
CODED: Mapping[str, str] = {
    "eng_Latn": r"(?:serial|account|order|house|invoice|policy|ticket|passport|licen[cs]e|registration|reference"
    r"|tracking|part|customer|badge|ID|phone|telephone|fax|mobile) (?:numbers?|nos?\.)|serial|accounts?|invoice"
    r"|ZIP(?: code)?|postcode",
    "deu_Latn": r"(?:pin-?|zugangs|tür)?code|geheimzahl|passwort|pin"
    r"|(?:serien|konto|bestell|kunden|haus|rechnungs|artikel|personal|ausweis|pass|versicherungs|steuer"
    r"|telefon|fax|handy|vertrags|auftrags|kenn|start|zimmer)nummern?|konto|postfach|plz|postleitzahl|aktenzeichen",
    "fra_Latn": r"codes?(?: secret| pin| d['’]accès)?|mot de passe"
    r"|numéros? (?:de (?:série|compte|commande|client|facture|téléphone|dossier|police)"
    r"|d['’](?:immatriculation|ordre|identification))|code postal|boîte postale",
    "spa_Latn": r"código(?: de acceso| secreto| pin)?|clave|contraseña|pin"
    r"|números? de (?:serie|cuenta|pedido|cliente|factura|teléfono|póliza|pasaporte|referencia|matrícula)"
    r"|código postal|apartado(?: de correos)?",
    "ita_Latn": r"numer[oi] di (?:serie|conto|matricola|telefono|ordine|fattura|pratica|polizza|passaporto)"
    r"|codice(?: postale)?|matricola",
    "por_Latn": r"código(?: de acesso| secreto| pin)?|senha|pin"
    r"|números? d[eo] (?:série|conta|pedido|cliente|fatura|telefone|apólice|passaporte|matrícula|processo)"
    r"|código postal",
    "nld_Latn": r"(?:pin|toegangs)?code|wachtwoord"
    r"|(?:serie|rekening|order|klant|huis|factuur|telefoon|polis|paspoort|artikel|bestel)nummers?"
    r"|postcode|postbus",
    "swe_Latn": r"(?:pin|port)?kod(?:en)?|lösenord(?:et)?"
    r"|(?:serie|konto|order|kund|hus|faktura|telefon|pass|artikel|beställnings|registrerings|mobil|post)"
    r"(?:nummer|numret|nr\.?)",
    "dan_Latn": r"(?:pin|adgangs)?koden?|adgangskoden?"
    r"|(?:serie|konto|ordre|kunde|hus|faktura|telefon|pas|artikel|registrerings|mobil|post)"
    r"(?:nummer|nummeret|nr\.?)",
    "pol_Latn": r"numer(?:u|em|ze)? (?:seryjn\p{L}+|kont\p{L}+|rachunk\p{L}+|zamówieni\p{L}+|klient\p{L}+"
    r"|faktur\p{L}+|telefon\p{L}*|domu|paszport\p{L}*|dowodu)|kod pocztowy",
    "ces_Latn": r"(?:pin )?kód(?:em)?|heslo|pin|(?:sériové|výrobní|evidenční|popisné|rodné|telefonní) číslo"
    r"|číslo (?:účtu|objednávky|faktury|pasu|zákazníka|telefonu|domu)|psč",
    "rus_Cyrl": r"(?:пин-?)?код\p{L}{0,2}|парол\p{L}{1,2}|(?:серийн|заводск|инвентарн)\p{L}+ номер\p{L}*"
    r"|номер\p{L}* (?:сч[её]та|заказа|телефона|паспорта|дома|договора|рейса)|индекс",
    "ukr_Cyrl": r"(?:пін-?)?код\p{L}{0,2}|парол\p{L}{1,2}|(?:серійн|заводськ)\p{L}+ номер\p{L}*"
    r"|номер\p{L}* (?:рахунку|замовлення|телефону|паспорта|будинку|договору)|індекс",
    "tur_Latn": r"(?:pin )?kodu?|şifre(?:si)?|parola(?:sı)?"
    r"|(?:seri|hesap|sipariş|müşteri|fatura|telefon|pasaport|bina|kapı|posta) (?:numarası|kodu|no)",
    "ind_Latn": r"kode(?: pin)?|kata sandi|pin"
    r"|nomor (?:seri|rekening|pesanan|pelanggan|faktur|telepon|paspor|rumah|polisi)|kode pos",
    "vie_Latn": r"mật khẩu|mã pin"
    r"|số (?:sê-ri|seri|tài khoản|đơn hàng|hóa đơn|điện thoại|hộ chiếu|nhà)|mã (?:số|bưu điện|bưu chính)",
    "arb_Arab": r"رقم (?:الحساب|الطلب|الهاتف|الفاتورة|جواز السفر)|الرقم التسلسلي|الرمز البريدي",
    "pes_Arab": r"شماره(?:[ \u200c]?ی)? (?:حساب|سریال|سفارش|تلفن|پرونده|گذرنامه|پلاک)|کد پستی",
    "hin_Deva": r"(?:खाता|सीरियल|ऑर्डर|फ़ोन|पासपोर्ट) (?:संख्या|नंबर)|क्रमांक|पिन कोड",
    "ben_Beng": r"(?:ক্রমিক|হিসাব|ফোন|অর্ডার|পাসপোর্ট) (?:নম্বর|নং)|পোস্ট কোড",
}
# what may stand between: "serial number is 4711", "Kontonummer: 123456", "account no. 1450"
BETWEEN = r"(?: (?:no|nr|n|č)[.°º])?(?: \p{L}{1,4})?:? ?#?"
MIN_DIGITS = 4
