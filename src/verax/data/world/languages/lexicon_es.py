"""Spanish words for the concepts of the world."""

from __future__ import annotations

from verax.data.world.languages.wording import table

KINDS = table("""
person: f persona; musician: m músico; violinist: m violinista; drummer: m baterista; pianist: m pianista;
athlete: m atleta; cyclist: m ciclista; boxer: m boxeador; goalkeeper: m portero; doctor: m médico;
surgeon: m cirujano; dentist: m dentista; child: m niño; boy: m muchacho / m chico; girl: f muchacha / f chica;
toddler: m bebé; artisan: m artesano; carpenter: m carpintero; potter: m alfarero; tailor: m sastre; farmer: m granjero;
teacher: m maestro / m profesor;
animal: m animal; dog: m perro; cat: m gato; bird: m pájaro; horse: m caballo; bear: m oso; monkey: m mono;
rabbit: m conejo; sheep: f oveja; poodle: m caniche; terrier: m terrier; spaniel: m spaniel; sparrow: m gorrión;
parrot: m loro; owl: m búho; eagle: fa águila; pony: m poni; stallion: m semental; lamb: m cordero; ram: m carnero;
vehicle: m vehículo; car: m coche; truck: m camión; bus: m autobús; bicycle: f bicicleta; boat: m barco; taxi: m taxi;
limousine: f limusina; tandem: m tándem; canoe: f canoa; ferry: m transbordador; yacht: m yate;
furniture: m mueble; chair: f silla; table: f mesa; bed: f cama; sofa: m sofá; cupboard: m armario; armchair: m sillón;
stool: m taburete; desk: m escritorio;
garment: f prenda_de_vestir; hat: m sombrero; coat: m abrigo; shoe: m zapato; scarf: f bufanda; shirt: f camisa;
beret: f boina; bonnet: m gorro; raincoat: m impermeable; parka: f parka; boot: f bota; sandal: f sandalia;
slipper: f zapatilla; blouse: f blusa;
fruit: f fruta; apple: f manzana; pear: f pera; lemon: m limón; plum: f ciruela; berry: f baya; strawberry: f fresa;
raspberry: f frambuesa;
instrument: m instrumento_musical; violin: m violín; drum: m tambor; flute: f flauta; guitar: f guitarra;
trumpet: f trompeta;
tool: f herramienta; hammer: m martillo; saw: f sierra; spade: f pala; axe: fa hacha; rake: m rastrillo; mallet: m mazo;
hatchet: f hachuela;
container: m recipiente; cup: f taza; bowl: m cuenco; bottle: f botella; box: f caja; basket: f cesta; bag: f bolsa;
mug: m tazón; goblet: m cáliz; flask: f cantimplora; crate: m cajón; suitcase: f maleta; rucksack: f mochila;
toy: m juguete; doll: f muñeca; ball: f pelota; kite: f cometa; puzzle: m rompecabezas;
flower: f flor; rose: f rosa; tulip: m tulipán; daisy: f margarita; lily: m lirio
""")
"""Gender and noun; `fa` is a feminine that begins with a stressed a and so has the article "el"."""

QUALITIES = table("""
red: rojo roja; scarlet: escarlata; crimson: carmesí; blue: azul; azure: azul_celeste; navy: azul_marino; green: verde;
emerald: verde_esmeralda; olive: verde_oliva; yellow: amarillo amarilla; black: negro negra; white: blanco blanca;
ivory: blanco_marfil; snowy: blanco_nieve; brown: marrón; chestnut: castaño castaña; tan: marrón_claro;
grey: gris; pink: rosado rosada / de_color_rosa; purple: morado morada; mauve: malva;
big: grande; huge: enorme; gigantic: gigantesco gigantesca; small: pequeño pequeña; tiny: diminuto diminuta;
miniature: en_miniatura; young: joven; old: viejo vieja / anciano anciana; new: nuevo nueva; worn: *gastado gastada;
clean: *limpio limpia; spotless: *impecable; dirty: *sucio sucia; muddy: *embarrado embarrada;
filthy: *mugriento mugrienta; wet: *mojado mojada; soaked: *empapado empapada; dripping: *chorreando; dry: *seco seca;
heavy: pesado pesada; light: ligero ligera; cheap: barato barata; expensive: caro cara / costoso costosa;
full: *lleno llena; empty: *vacío vacía; happy: *contento contenta / feliz; cheerful: *alegre;
delighted: *encantado encantada; sad: *triste; gloomy: *melancólico melancólica; miserable: *desdichado desdichada;
calm: *tranquilo tranquila / *sereno serena; angry: *enfadado enfadada / *enojado enojada; furious: *furioso furiosa;
rich: rico rica; poor: pobre; penniless: *sin_un_céntimo; tall: alto alta; short: bajo baja; strong: fuerte;
mighty: poderoso poderosa; weak: débil; feeble: endeble; healthy: *sano sana; ill: *enfermo enferma; tame: manso mansa;
wild: salvaje
""")
"""Masculine and feminine, one form if they are the same; `*`: a state, said with "estar"."""

ACTIVITIES = table("""
move: moviéndose; run: corriendo; sprint: esprintando; jog: trotando; walk: caminando / andando; stroll: paseando;
march: desfilando; swim: nadando; climb: trepando; crawl: gateando; dance: bailando; waltz: bailando un vals;
rest: descansando; sleep: durmiendo; nap: echando la siesta; doze: dormitando;
eat: comiendo; munch: masticando; nibble: mordisqueando; drink: bebiendo; sip: bebiendo a sorbos;
talk: hablando; whisper: hablando en voz baja / susurrando; shout: gritando; chat: charlando; sing: cantando;
yodel: cantando a la tirolesa; cook: cocinando; paint: pintando; write: escribiendo
""")

PLACES = table("""
indoors: bajo techo; outdoors: al aire libre / fuera;
house: f casa; school: f escuela; shop: f tienda; museum: m museo; theatre: m teatro; library: f biblioteca;
barn: m granero; kitchen: f cocina; bedroom: m dormitorio; bathroom: m cuarto_de_baño / m baño; cellar: m sótano;
attic: m desván; classroom: fa aula; bakery: f panadería; bookshop: f librería;
park: m parque; garden: m jardín; forest: m bosque; beach: f playa; field: m campo; street: f calle; market: m mercado;
desert: m desierto; alley: m callejón; avenue: f avenida
""")
"""Gender and noun, with "en" before them; or words that are said as they are."""

DEEDS = table("""
follow: siguiendo; chase: persiguiendo; push: empujando; pull: arrastrando; look_at: mirando; watch: observando;
hold: sujetando / sosteniendo; carry: llevando
""")

PARTICIPLES = {
    "chase": "perseguido",
    "push": "empujado",
    "pull": "arrastrado",
    "watch": "observado",
    "hold": "sujetado",
    "carry": "llevado",
}

POSITIONS = table("""
near: cerca de; next_to: al_lado de / junto a; far: lejos de; above: encima de; below: debajo de; before: delante de;
behind: detrás de
""")

COMPARISONS = table("bigger: grande; smaller: pequeño pequeña; older: viejo vieja; younger: joven")
