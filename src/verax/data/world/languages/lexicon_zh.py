"""Chinese words for the concepts of the world."""

from __future__ import annotations

from verax.data.world.languages.wording import table

KINDS = table("""
person: 个 人; musician: 位 音乐家; violinist: 位 小提琴手; drummer: 位 鼓手; pianist: 位 钢琴家; athlete: 位 运动员;
cyclist: 位 自行车手; boxer: 位 拳击手; goalkeeper: 位 守门员; doctor: 位 医生; surgeon: 位 外科_医生; dentist: 位 牙医;
child: 个 孩子; boy: 个 男孩; girl: 个 女孩; toddler: 个 幼儿; artisan: 位 工匠; carpenter: 位 木匠; potter: 位 陶工;
tailor: 位 裁缝; farmer: 位 农民; teacher: 位 老师;
animal: 只 动物; dog: 只 狗; cat: 只 猫; bird: 只 鸟; horse: 匹 马; bear: 头 熊; monkey: 只 猴子; rabbit: 只 兔子;
sheep: 只 绵羊; poodle: 只 贵宾犬; terrier: 只 梗犬; spaniel: 只 猎犬; sparrow: 只 麻雀; parrot: 只 鹦鹉;
owl: 只 猫头鹰; eagle: 只 老鹰; pony: 匹 小马; stallion: 匹 公马; lamb: 只 羊羔; ram: 只 公羊;
vehicle: 辆 车辆; car: 辆 汽车; truck: 辆 卡车; bus: 辆 巴士; bicycle: 辆 自行车; boat: 艘 船; taxi: 辆 出租车;
limousine: 辆 豪华_轿车; tandem: 辆 双人_自行车; canoe: 艘 独木舟; ferry: 艘 渡轮; yacht: 艘 游艇;
furniture: 件 家具; chair: 把 椅子; table: 张 桌子; bed: 张 床; sofa: 张 沙发; cupboard: 个 柜子; armchair: 把 扶手椅;
stool: 张 凳子; desk: 张 书桌;
garment: 件 衣物; hat: 顶 帽子; coat: 件 大衣; shoe: 只 鞋子; scarf: 条 围巾; shirt: 件 衬衫; beret: 顶 贝雷帽;
bonnet: 顶 女帽; raincoat: 件 雨衣; parka: 件 派克_大衣; boot: 只 靴子; sandal: 只 凉鞋; slipper: 只 拖鞋;
blouse: 件 女_衬衫;
fruit: 个 水果; apple: 个 苹果; pear: 个 梨; lemon: 个 柠檬; plum: 个 李子; berry: 颗 浆果; strawberry: 颗 草莓;
raspberry: 颗 树莓;
instrument: 件 乐器; violin: 把 小提琴; drum: 面 鼓; flute: 支 长笛; guitar: 把 吉他; trumpet: 支 小号;
tool: 件 工具; hammer: 把 锤子; saw: 把 锯子; spade: 把 铲子 / 把 铁锹; axe: 把 斧头; rake: 把 耙子; mallet: 把 木槌;
hatchet: 把 短柄_斧头;
container: 个 容器; cup: 个 杯子; bowl: 个 碗; bottle: 个 瓶子; box: 个 盒子; basket: 个 篮子; bag: 个 包;
mug: 个 马克杯; goblet: 个 高脚杯; flask: 个 水壶; crate: 个 板条箱; suitcase: 个 手提箱; rucksack: 个 背包;
toy: 件 玩具; doll: 个 娃娃; ball: 个 球; kite: 只 风筝; puzzle: 副 拼图;
flower: 朵 花; rose: 朵 玫瑰; tulip: 朵 郁金香; daisy: 朵 雏菊; lily: 朵 百合
""")
"""Measure word and noun."""

QUALITIES = table("""
red: =红色; scarlet: =猩红色; crimson: =深红色; blue: =蓝色; azure: =天蓝色; navy: =海军蓝; green: =绿色;
emerald: =翠绿色; olive: =橄榄绿; yellow: =黄色; black: =黑色; white: =白色; ivory: =象牙白; snowy: =雪白;
brown: =棕色; chestnut: =栗色; tan: =浅棕色; grey: =灰色; pink: =粉色; purple: =紫色; mauve: =淡紫色;
big: 大; huge: 巨大; gigantic: 庞大; small: 小; tiny: 微小; miniature: =微型; young: 年轻; old: 老 / 年老; new: =新;
worn: =旧; clean: 干净; spotless: =一尘不染; dirty: 脏; muddy: =沾满_泥; filthy: 肮脏; wet: 湿; soaked: =湿透;
dripping: =滴水; dry: 干; heavy: 重 / 沉重; light: 轻; cheap: 便宜; expensive: 贵 / 昂贵; full: =满; empty: =空;
happy: 快乐 / 高兴; cheerful: 开朗; delighted: 欣喜; sad: 难过 / 伤心; gloomy: 忧郁; miserable: 悲惨; calm: 平静;
angry: 生气; furious: =暴怒; rich: 富有 / 有钱; poor: 贫穷; penniless: =身无分文; tall: 高; short: 矮; strong: 强壮;
mighty: 威猛; weak: 虚弱; feeble: 衰弱; healthy: 健康; ill: =生病; tame: =驯服; wild: =野生
""")
"""Adjectives; `=`: one that is not a matter of degree, said as 是 ... 的."""

ACTIVITIES = table("""
move: 活动; run: 跑步; sprint: 冲刺; jog: 慢跑; walk: 走路; stroll: 散步; march: 行进; swim: 游泳; climb: 攀登;
crawl: 爬行; dance: 跳舞; waltz: 跳_华尔兹; rest: 休息; sleep: 睡觉; nap: 午睡; doze: 打_瞌睡;
eat: 吃_东西; munch: 大口_吃_东西; nibble: 小口_吃_东西; drink: 喝水; sip: 小口_喝水;
talk: 说话 / 讲话; whisper: 小声_说话 / 耳语; shout: 喊叫; chat: 聊天; sing: 唱歌; yodel: 唱_约德尔;
cook: 做饭; paint: 画画; write: 写字
""")

PLACES = table("""
indoors: 室内; outdoors: 户外 / 室外;
house: 房子 里; school: 学校 里; shop: 商店 里; museum: 博物馆 里; theatre: 剧院 里; library: 图书馆 里; barn: 谷仓 里;
kitchen: 厨房 里; bedroom: 卧室 里; bathroom: 浴室 里; cellar: 地下室 里; attic: 阁楼 上; classroom: 教室 里;
bakery: 面包店 里; bookshop: 书店 里;
park: 公园 里; garden: 花园 里; forest: 森林 里; beach: 海滩 上; field: 田野 里; street: 街道 上 / 马路 上;
market: 市场 上; desert: 沙漠 里; alley: 小巷 里; avenue: 林荫_大道 上
""")
"""The place, and the word of position that follows it."""

DEEDS = table("""
follow: 跟随; chase: 追赶; push: 推; pull: 拉; look_at: 看着; watch: 观察; hold: 拿着; carry: 搬运
""")

POSITIONS = table("""
near: 附近; next_to: 旁边; above: 上方; below: 下方; before: 前面; behind: 后面
""")

COMPARISONS = table("bigger: 大; smaller: 小; older: 年长; younger: 年轻")
