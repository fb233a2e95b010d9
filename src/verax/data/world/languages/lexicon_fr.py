"""French words for the concepts of the world."""

from __future__ import annotations

from verax.data.world.languages.wording import table

KINDS = table("""
person: f personne; musician: m musicien; violinist: m violoniste; drummer: m batteur; pianist: m pianiste;
athlete: m athlète; cyclist: m cycliste; boxer: m boxeur; goalkeeper: m gardien_de_but; doctor: m médecin;
surgeon: m chirurgien; dentist: m dentiste; child: m enfant; boy: m garçon; girl: f fille; toddler: m bambin;
artisan: m artisan; carpenter: m menuisier; potter: m potier; tailor: m tailleur; farmer: m fermier;
teacher: m professeur;
animal: m animal; dog: m chien; cat: m chat; bird: m oiseau; horse: m cheval; bear: m ours; monkey: m singe;
rabbit: m lapin; sheep: m mouton; poodle: m caniche; terrier: m terrier; spaniel: m épagneul; sparrow: m moineau;
parrot: m perroquet; owl: f chouette; eagle: m aigle; pony: m poney; stallion: m étalon; lamb: m agneau; ram: m bélier;
vehicle: m véhicule; car: f voiture; truck: m camion; bus: m bus / m autobus; bicycle: m vélo / f bicyclette;
boat: m bateau; taxi: m taxi; limousine: f limousine; tandem: m tandem; canoe: m canoë; ferry: m ferry; yacht: m yacht;
furniture: m meuble; chair: f chaise; table: f table; bed: m lit; sofa: m canapé; cupboard: f armoire;
armchair: m fauteuil; stool: m tabouret; desk: m bureau;
garment: m vêtement; hat: m chapeau; coat: m manteau; shoe: f chaussure; scarf: f écharpe; shirt: f chemise;
beret: m béret; bonnet: m bonnet; raincoat: m imperméable; parka: f parka; boot: f botte; sandal: f sandale;
slipper: f pantoufle; blouse: m chemisier;
fruit: m fruit; apple: f pomme; pear: f poire; lemon: m citron; plum: f prune; berry: f baie; strawberry: f fraise;
raspberry: f framboise;
instrument: m instrument_de_musique; violin: m violon; drum: m tambour; flute: f flûte; guitar: f guitare;
trumpet: f trompette;
tool: m outil; hammer: m marteau; saw: f scie; spade: f bêche / f pelle; axe: f hache; rake: m râteau;
mallet: m maillet; hatchet: f hachette;
container: m récipient; cup: f tasse; bowl: m bol; bottle: f bouteille; box: f boîte; basket: m panier; bag: m sac;
mug: f chope; goblet: m calice; flask: f gourde; crate: f caisse; suitcase: f valise; rucksack: m sac_à_dos;
toy: m jouet; doll: f poupée; ball: m ballon; kite: m cerf-volant; puzzle: m puzzle;
flower: f fleur; rose: f rose; tulip: f tulipe; daisy: f marguerite; lily: m lis
""")
"""Gender and noun. Every h here is aspirated: nothing is elided before it."""

QUALITIES = table("""
red: rouge; scarlet: écarlate; crimson: cramoisi cramoisie; blue: bleu bleue; azure: bleu_azur; navy: bleu_marine;
green: vert verte; emerald: vert_émeraude; olive: vert_olive; yellow: jaune; black: noir noire; white: blanc blanche;
ivory: blanc_ivoire; snowy: blanc_neige; brown: brun brune / marron; chestnut: châtain châtaine; tan: brun_clair;
grey: gris grise; pink: rose; purple: violet violette; mauve: mauve;
big: <grand grande / <gros grosse; huge: énorme; gigantic: gigantesque; small: <petit petite; tiny: minuscule;
miniature: miniature; young: <jeune; old: âgé âgée; new: neuf neuve; worn: usé usée;
clean: propre; spotless: impeccable; dirty: sale; muddy: boueux boueuse; filthy: crasseux crasseuse;
wet: mouillé mouillée; soaked: trempé trempée; dripping: dégoulinant dégoulinante; dry: sec sèche;
heavy: lourd lourde; light: léger légère; cheap: bon_marché; expensive: cher chère / coûteux coûteuse;
full: plein pleine; empty: vide; happy: heureux heureuse / content contente; cheerful: joyeux joyeuse;
delighted: ravi ravie; sad: triste; gloomy: morose; miserable: malheureux malheureuse; calm: calme / paisible;
angry: en_colère / fâché fâchée; furious: furieux furieuse; rich: riche; poor: pauvre; penniless: sans_le_sou;
tall: de_grande_taille; short: de_petite_taille; strong: fort forte; mighty: puissant puissante; weak: faible;
feeble: chétif chétive; healthy: en_bonne_santé; ill: malade; tame: apprivoisé apprivoisée; wild: sauvage
""")
"""Masculine and feminine, one form if they are the same; `<`: it precedes the noun."""

ACTIVITIES = table("""
move: bouge; run: court; sprint: sprinte; jog: trottine; walk: marche; stroll: se promène; march: défile; swim: nage;
climb: grimpe; crawl: rampe; dance: danse; waltz: danse la valse;
rest: se repose; sleep: dort; nap: fait la sieste; doze: somnole;
eat: mange; munch: mâchonne; nibble: grignote; drink: boit; sip: boit à petites gorgées;
talk: parle; whisper: parle à voix basse / chuchote; shout: crie; chat: bavarde; sing: chante; yodel: iodle;
cook: cuisine / fait la cuisine; paint: peint; write: écrit
""")

PLACES = table("""
indoors: à l'intérieur; outdoors: en plein air / dehors;
house: dans f maison; school: à f école; shop: à m magasin; museum: à m musée; theatre: à m théâtre;
library: à f bibliothèque; barn: dans f grange; kitchen: dans f cuisine; bedroom: dans f chambre;
bathroom: dans f salle_de_bains; cellar: à f cave; attic: à m grenier; classroom: dans f salle_de_classe;
bakery: à f boulangerie; bookshop: à f librairie;
park: dans m parc; garden: dans m jardin; forest: dans f forêt; beach: à f plage / sur f plage; field: dans m champ;
street: dans f rue; market: à m marché; desert: dans m désert; alley: dans f ruelle; avenue: sur f avenue
""")
"""Preposition, gender and noun; or words that are said as they are."""

DEEDS = {
    "follow": ("suit",),
    "chase": ("poursuit",),
    "push": ("pousse",),
    "pull": ("tire",),
    "look_at": ("regarde",),
    "watch": ("observe",),
    "hold": ("tient",),
    "carry": ("porte",),
}

PARTICIPLES = {
    "chase": "poursuivi",
    "push": "poussé",
    "pull": "tiré",
    "watch": "observé",
    "hold": "tenu",
    "carry": "porté",
}

POSITIONS = table("""
near: près de; next_to: à_côté de; far: loin de; above: au-dessus de; below: sous / au-dessous de; before: devant;
behind: derrière
""")

COMPARISONS = table("bigger: grand grande; smaller: petit petite; older: âgé âgée; younger: jeune")
