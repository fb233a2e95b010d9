"""German words for the concepts of the world."""

from __future__ import annotations

from verax.data.world.languages.wording import table

KINDS = table("""
person: m Mensch~Menschen; musician: m Musiker; violinist: m Geiger; drummer: m Schlagzeuger;
pianist: m Pianist~Pianisten; athlete: m Sportler; cyclist: m Radfahrer; boxer: m Boxer; goalkeeper: m Torwart;
doctor: m Arzt; surgeon: m Chirurg~Chirurgen; dentist: m Zahnarzt; child: n Kind; boy: m Junge~Jungen; girl: n Mädchen;
toddler: n Kleinkind; artisan: m Handwerker; carpenter: m Tischler / m Schreiner; potter: m Töpfer; tailor: m Schneider;
farmer: m Bauer~Bauern; teacher: m Lehrer;
animal: n Tier; dog: m Hund; cat: f Katze; bird: m Vogel; horse: n Pferd; bear: m Bär~Bären; monkey: m Affe~Affen;
rabbit: n Kaninchen; sheep: n Schaf; poodle: m Pudel; terrier: m Terrier; spaniel: m Spaniel; sparrow: m Spatz~Spatzen;
parrot: m Papagei~Papageien; owl: f Eule; eagle: m Adler; pony: n Pony; stallion: m Hengst; lamb: n Lamm; ram: m Widder;
vehicle: n Fahrzeug; car: n Auto; truck: m Lastwagen; bus: m Bus; bicycle: n Fahrrad / n Rad; boat: n Boot;
taxi: n Taxi; limousine: f Limousine; tandem: n Tandem; canoe: n Kanu; ferry: f Fähre; yacht: f Jacht;
furniture: n Möbelstück; chair: m Stuhl; table: m Tisch; bed: n Bett; sofa: n Sofa; cupboard: m Schrank;
armchair: m Sessel; stool: m Hocker; desk: m Schreibtisch;
garment: n Kleidungsstück; hat: m Hut; coat: m Mantel; shoe: m Schuh; scarf: m Schal; shirt: n Hemd;
beret: f Baskenmütze; bonnet: f Haube; raincoat: m Regenmantel; parka: m Parka; boot: m Stiefel; sandal: f Sandale;
slipper: m Hausschuh; blouse: f Bluse;
fruit: f Frucht; apple: m Apfel; pear: f Birne; lemon: f Zitrone; plum: f Pflaume; berry: f Beere;
strawberry: f Erdbeere; raspberry: f Himbeere;
instrument: n Musikinstrument; violin: f Geige; drum: f Trommel; flute: f Flöte; guitar: f Gitarre; trumpet: f Trompete;
tool: n Werkzeug; hammer: m Hammer; saw: f Säge; spade: m Spaten / f Schaufel; axe: f Axt; rake: m Rechen;
mallet: m Holzhammer; hatchet: n Beil;
container: m Behälter; cup: f Tasse; bowl: f Schüssel; bottle: f Flasche; box: f Schachtel; basket: m Korb;
bag: f Tasche; mug: m Becher; goblet: m Kelch; flask: f Feldflasche; crate: f Kiste; suitcase: m Koffer;
rucksack: m Rucksack;
toy: n Spielzeug; doll: f Puppe; ball: m Ball; kite: m Drachen; puzzle: n Puzzle;
flower: f Blume; rose: f Rose; tulip: f Tulpe; daisy: n Gänseblümchen; lily: f Lilie
""")
"""Gender and noun; behind the tilde its form in the accusative and dative, if that is another."""

QUALITIES = table("""
red: rot; scarlet: scharlachrot; crimson: karminrot; blue: blau; azure: himmelblau; navy: marineblau; green: grün;
emerald: smaragdgrün; olive: olivgrün; yellow: gelb; black: schwarz; white: weiß; ivory: elfenbeinfarben;
snowy: schneeweiß; brown: braun; chestnut: kastanienbraun; tan: hellbraun; grey: grau; pink: pinkfarben;
purple: violett; mauve: malvenfarben;
big: groß; huge: riesig; gigantic: gigantisch; small: klein; tiny: winzig; miniature: klitzeklein;
young: jung; old: alt; new: neu; worn: abgenutzt;
clean: sauber; spotless: blitzsauber; dirty: schmutzig / dreckig; muddy: schlammig; filthy: verdreckt;
wet: nass; soaked: durchnässt; dripping: tropfnass; dry: trocken; heavy: schwer; light: leicht;
cheap: billig / preiswert; expensive: teuer~teur / kostspielig; full: voll; empty: leer;
happy: glücklich / froh; cheerful: fröhlich; delighted: entzückt; sad: traurig; gloomy: trübsinnig;
miserable: todunglücklich; calm: ruhig / friedlich; angry: wütend / zornig; furious: zornentbrannt;
rich: reich / wohlhabend; poor: arm; penniless: mittellos; tall: hochgewachsen; short: kleinwüchsig;
strong: stark / kräftig; mighty: bärenstark; weak: schwach; feeble: gebrechlich; healthy: gesund; ill: krank;
tame: zahm; wild: wild
""")
"""The adjective as it stands in the predicate; behind the tilde the stem that takes endings, if that is another."""

ACTIVITIES = table("""
move: bewegt|sich; run: läuft / rennt; sprint: sprintet; jog: joggt; walk: geht; stroll: schlendert; march: marschiert;
swim: schwimmt; climb: klettert; crawl: kriecht; dance: tanzt; waltz: tanzt|Walzer||keinen;
rest: ruht|sich|aus; sleep: schläft; nap: hält|Mittagsschlaf||keinen; doze: döst;
eat: isst; munch: mampft; nibble: knabbert; drink: trinkt; sip: nippt;
talk: spricht / redet; whisper: flüstert; shout: schreit; chat: plaudert; sing: singt; yodel: jodelt;
cook: kocht; paint: malt; write: schreibt
""")
"""The verb, what follows it, what is put before it at the end of a clause, and by which word it is denied."""

PLACES = table("""
indoors: drinnen; outdoors: draußen / im Freien;
house: in n Haus; school: in f Schule; shop: in m Laden / in n Geschäft; museum: in n Museum; theatre: in n Theater;
library: in f Bibliothek; barn: in f Scheune; kitchen: in f Küche; bedroom: in n Schlafzimmer;
bathroom: in n Badezimmer / in n Bad; cellar: in m Keller; attic: auf m Dachboden; classroom: in n Klassenzimmer;
bakery: in f Bäckerei; bookshop: in f Buchhandlung;
park: in m Park; garden: in m Garten; forest: in m Wald; beach: an m Strand; field: auf n Feld; street: auf f Straße;
market: auf m Markt; desert: in f Wüste; alley: in f Gasse; avenue: auf f Allee
""")
"""Preposition, gender and noun; or words that are said as they are."""

DEEDS = table("""
follow: dative folgt; chase: accusative verfolgt; push: accusative schiebt; pull: accusative zieht;
look_at: accusative sieht|an; watch: accusative beobachtet; hold: accusative hält; carry: accusative trägt
""")
"""The case of the second noun, the verb, and what is put before it at the end of a clause."""

PARTICIPLES = {
    "chase": "verfolgt",
    "push": "geschoben",
    "pull": "gezogen",
    "watch": "beobachtet",
    "hold": "gehalten",
    "carry": "getragen",
}

POSITIONS = table("""
near: in_der_Nähe_von / nahe_bei; next_to: neben; far: weit_von|entfernt / weit_weg_von; above: über; below: unter;
before: vor; behind: hinter
""")
"""A preposition with the dative; behind the bar, what follows the noun."""

COMPARISONS = table("bigger: größer; smaller: kleiner; older: älter; younger: jünger")
