"""Bulgarian words for the concepts of the world."""

from __future__ import annotations

from verax.data.world.languages.wording import table

KINDS = table("""
person: m човек; musician: m музикант; violinist: ms цигулар; drummer: m барабанист; pianist: m пианист;
athlete: m атлет / m спортист; cyclist: m колоездач; boxer: m боксьор; goalkeeper: ms вратар; doctor: ms лекар;
surgeon: m хирург; dentist: ms зъболекар; child: n дете; boy: n момче; girl: n момиче; toddler: n бебе;
artisan: ma занаятчия; carpenter: m дърводелец; potter: ms грънчар; tailor: m шивач; farmer: m фермер;
teacher: ms учител;
animal: n животно; dog: n куче; cat: f котка; bird: f птица; horse: ms кон; bear: f мечка; monkey: f маймуна;
rabbit: m заек; sheep: f овца; poodle: m пудел; terrier: m териер; spaniel: m шпаньол; sparrow: n врабче;
parrot: m папагал; owl: m бухал; eagle: m орел; pony: n пони; stallion: m жребец; lamb: n агне; ram: m овен;
vehicle: n превозно_средство превозното_средство; car: f кола; truck: m камион; bus: m автобус;
bicycle: n колело / m велосипед; boat: f лодка; taxi: n такси; limousine: f лимузина; tandem: m тандем; canoe: n кану;
ferry: m ферибот; yacht: f яхта;
furniture: f мебел; chair: m стол; table: f маса; bed: n легло; sofa: m диван; cupboard: m шкаф; armchair: n кресло;
stool: f табуретка; desk: n бюро;
garment: f дреха; hat: f шапка; coat: n палто; shoe: f обувка; scarf: m шал; shirt: f риза; beret: f барета;
bonnet: n боне; raincoat: m дъждобран; parka: f парка; boot: m ботуш; sandal: m сандал; slipper: m чехъл;
blouse: f блуза;
fruit: m плод; apple: f ябълка; pear: f круша; lemon: m лимон; plum: f слива;
berry: m горски_плод горският_плод горския_плод; strawberry: f ягода; raspberry: f малина;
instrument: m музикален_инструмент музикалният_инструмент музикалния_инструмент; violin: f цигулка; drum: m барабан;
flute: f флейта; guitar: f китара; trumpet: m тромпет;
tool: n сечиво; hammer: m чук; saw: m трион; spade: f лопата; axe: f брадва; rake: n гребло; mallet: n чукче;
hatchet: f секира;
container: m съд; cup: f чаша; bowl: f купа; bottle: f бутилка; box: f кутия; basket: f кошница; bag: f чанта;
mug: f халба; goblet: m бокал; flask: f манерка; crate: m сандък; suitcase: m куфар; rucksack: f раница;
toy: f играчка; doll: f кукла; ball: f топка; kite: n хвърчило; puzzle: m пъзел;
flower: n цвете; rose: f роза; tulip: n лале; daisy: f маргаритка; lily: f лилия
""")
"""Gender and noun. `ms`: its article is soft; `ma`: a masculine that takes the feminine article. A noun of two words
comes with its definite forms, as a subject and else."""

QUALITIES = table("""
red: червен; scarlet: ален; crimson: пурпурен пурпурн; blue: син синя синьо сини; azure: лазурен лазурн;
navy: тъмносин тъмносиня тъмносиньо тъмносини; green: зелен; emerald: смарагдов; olive: маслиненозелен; yellow: жълт;
black: черен черн; white: бял бяла бяло бели; ivory: кремав; snowy: снежнобял снежнобяла снежнобяло снежнобели;
brown: кафяв; chestnut: кестеняв; tan: светлокафяв; grey: сив; pink: розов; purple: лилав; mauve: бледолилав;
big: голям голяма голямо големи; huge: огромен огромн; gigantic: гигантски гигантска гигантско гигантски;
small: малък малк; tiny: мъничък мъничк; miniature: миниатюрен миниатюрн;
young: млад; old: стар / възрастен възрастн; new: нов; worn: износен / изтъркан;
clean: чист; spotless: безупречен безупречн; dirty: мръсен мръсн; muddy: окалян; filthy: мърляв;
wet: мокър мокр; soaked: подгизнал; dripping: капещ; dry: сух; heavy: тежък тежк; light: лек; cheap: евтин;
expensive: скъп; full: пълен пълн; empty: празен празн; happy: щастлив / радостен радостн; cheerful: весел;
delighted: възхитен; sad: тъжен тъжн; gloomy: мрачен мрачн; miserable: нещастен нещастн; calm: спокоен спокойн;
angry: ядосан / сърдит; furious: разярен; rich: богат / заможен заможн; poor: беден бедн;
penniless: безпаричен безпаричн;
tall: висок; short: нисък ниск; strong: силен силн; mighty: могъщ; weak: слаб; feeble: немощен немощн; healthy: здрав;
ill: болен болн; tame: опитомен / питомен питомн; wild: див
""")
"""Masculine, and the stem before other endings if that is another; or masculine, feminine, neuter and plural."""

ACTIVITIES = table("""
move: се движи; run: тича / бяга; sprint: спринтира; jog: джогира; walk: върви; stroll: се разхожда; march: марширува;
swim: плува; climb: се катери; crawl: пълзи; dance: танцува; waltz: танцува валс;
rest: си почива; sleep: спи; nap: подремва; doze: дреме;
eat: яде; munch: дъвче; nibble: гризе; drink: пие; sip: пие на малки глътки;
talk: говори; whisper: шепне / говори шепнешком; shout: вика; chat: бъбри; sing: пее; yodel: пее йодел;
cook: готви; paint: рисува; write: пише
""")

PLACES = table("""
indoors: вътре / на закрито; outdoors: навън / на открито;
house: в къщата; school: в училището; shop: в магазина; museum: в музея; theatre: в театъра; library: в библиотеката;
barn: в хамбара; kitchen: в кухнята; bedroom: в спалнята; bathroom: в банята; cellar: в мазето; attic: на тавана;
classroom: в класната_стая; bakery: в пекарната; bookshop: в книжарницата;
park: в парка; garden: в градината; forest: в гората; beach: на плажа; field: на полето; street: на улицата;
market: на пазара; desert: в пустинята; alley: в уличката; avenue: на булеварда
""")
"""Preposition and the noun with its article; for indoors and outdoors words that are said as they are."""

DEEDS = table("""
follow: следва; chase: преследва; push: бута; pull: дърпа; look_at: гледа; watch: наблюдава; hold: държи; carry: носи
""")

PARTICIPLES = {
    "chase": "преследван",
    "push": "бутан",
    "pull": "дърпан",
    "watch": "наблюдаван",
    "hold": "държан",
    "carry": "носен",
}

POSITIONS = table("""
near: близо_до; next_to: до; far: далеч_от; above: над; below: под; before: пред; behind: зад
""")

COMPARISONS = table("""
bigger: голям голяма голямо големи; smaller: малък малк; older: възрастен възрастн; younger: млад
""")
