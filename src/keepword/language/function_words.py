"""The function words of each language: too frequent to tell one text from another, and what tells its language."""

from collections.abc import Mapping
from types import MappingProxyType

from keepword.language.names import Language, fold

# the lists of Latin languages are written with accents and folded once; apostrophes cut words, so `l`, `dell` are words
_WORDS: dict[Language, str] = {
    "en": """
a about above after again against all am an and any are as at be because been before being below between both but by
can did do does doing don down during each few for from further had has have having he her here hers herself him
himself his how i if in into is it its itself just me more most my myself no nor not now of off on once only or other
our ours ourselves out over own s same she should so some such t than that the their theirs them themselves then there
these they this those through to too under until up very was we were what when where which while who whom why will with
you your yours yourself yourselves
""",
    "de": """
ab aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus bei beim bin bis bist
da dabei dafür daher damit danach dann daran darauf daraus darf darum das dass davon dazu dein deine deinem deinen
deiner dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch durfte ein eine einem
einen einer eines einige er es etwa etwas euch euer eure für gegen gehabt gewesen hab habe haben hast hat hatte hatten
hattest hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes
jener jetzt kann kannst kein keine keinem keinen keiner können könnte könnten man manche mein meine meinem meinen meiner
mich mir mit mal möchte muss müssen musste nach nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem
seinen seiner seit sich sie sind so solche soll sollen sollte sondern sonst über um und uns unser unsere unserem
unseren unter viel vom von vor während wann war waren warst warum was weil welche welchem welchen welcher welches wem
wen wenn wer werde werden wessen weshalb wie wieder wieviel wir wird wirst wo woher wohin wollen wollte wollten womit
worden wovon worüber wozu wurde wurden zu zum zur zwar zwischen
""",
    "fr": """
ai aie aient ainsi alors après as au aucun aucune aujourd aura auraient aurait aussi autre autres aux avaient avais
avait avant avec avez aviez avions avoir avons ayant bien c car ce ceci cela celle celles celui ces cet cette ceux chez
comme comment d dans de depuis des déjà donc dont du elle elles en encore entre es est et étaient étais était étant êtes
été être eu eux fait faut hui il ils j je jusque l la là laquelle le lequel les lesquels leur leurs lors lui m ma mais
me mes mien mienne moi mon n ne ni non nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi
pouvez puis qu quand que quel quelle quelles quelque quelques quels qui quoi s sa sans sera seraient serait ses si sien
sinon soi soit sommes son sont sous suis sur t ta te tes tien toi ton tous tout toute toutes très trop tu un une va vers
veut voici voilà vont vos votre vous y
""",
    "es": """
a al algo algún alguna algunas alguno algunos ante antes aquel aquella aquello aquí así aún aunque cada como cómo con
conmigo contigo contra cual cuál cuales cuáles cuando cuándo cuanta cuánta cuantas cuántas cuanto cuánto cuantos
cuántos de del desde donde dónde dos durante e el él ella ellas ello ellos en entonces entre era eran eras eres es esa
esas ese eso esos esta está estaba estaban estáis estamos están estar estas estás este esto estos estoy estuvo fue
fueron fui fuimos ha haber había habían habíamos hace hacia han has hasta hay he hemos hubo la las le les lo los más me
mi mí mía mías mientras mío míos mis mucha muchas mucho muchos muy nada ni no nos nosotras nosotros nuestra nuestras
nuestro nuestros nunca o os otra otras otro otros para pero poco por porque pues qué que quien quién quienes quiénes se
sea sean ser será si sí sido siempre sin sino sobre sois solo sólo somos son soy su sus suya suyo también tampoco tan
tanto te ti tiene tienen tengo todo todos toda todas tu tú tus tuvo tuya tuyo un una unas uno unos usted ustedes va van
vosotras vosotros voy vuestra vuestro y ya yo
""",
    "pt": """
a à ao aos aquela aquelas aquele aqueles aquilo as às até cada com como contra cujo da daquela daquele das de dela
delas dele deles depois desde dessa desse desta deste do dos e é ela elas ele eles em enquanto entre era eram éramos
essa essas esse esses esta está estamos estão estar estas estava estavam este esteja estes esteve estive estou eu
fazer foi fomos for foram fosse fui há havia isso isto já lhe lhes lo mais mas me mesma mesmo meu meus mim minha minhas
muita muitas muito muitos na não nas nem nenhum nessa nesse nesta neste ninguém no nos nós nossa nossas nosso nossos num
numa nunca o onde os ou outra outras outro outros para pela pelas pelo pelos pode pois por porque pouco qual quais
qualquer quando quanta quantas quanto quantos que quê quem são se seja sejam sem sempre sendo ser será seu seus si só
sobre somos sou sua suas também te tem têm temos tendo tenho ter teu teus teve ti tido tinha tinham tive toda todas todo
todos tu tua tuas tudo um uma umas uns vai vão você vocês vos vou
""",
    "it": """
a abbia abbiamo abbiano ad ai al alcun alcuna alcuni all alla alle allo allora altra altre altri altro anche ancora
aveva avevano avevo avete avere avuto c ci che chi ciò cioè coi col come con così cosa cui d da dagli dai dal dall dalla
dalle dallo degli dei del dell della delle dello dentro di dopo dove dov due dunque durante e è ed egli ella era erano
eri ero esse essere essi esso fa fanno fare fino fra fu furono già gli ha hai hanno ho i il in io l la le lei li lo loro
lui ma me mentre mi mia mie miei mio molta molte molti molto ne né negli nei nel nell nella nelle nello nessuno niente
no noi non nostra nostre nostri nostro nulla o ogni oppure per perché perciò però più poco poi poiché proprio qua qual
quale quali quando quanta quante quanti quanto quasi quella quelle quelli quello quel quell quest questa queste questi
questo qui quindi sarà saranno se sei sempre senza si sia siamo siano siete solo sono sopra sotto sta stata state stati
stato stava su sua sue sugli sui sul sull sulla sulle suo suoi te ti tra tu tua tue tuo tuoi tutta tutte tutti tutto un
una uno va vi voi vostra vostro vuoi
""",
    "nl": """
aan al alle alleen als altijd andere ben bent bij daar daarom dan dat de deze die dit doch doen door dus een eens elke
en er ergens ervan even gaan ga gaat geen geweest gewoon had hadden haar heb hebben hebt heeft heel hem hen het hier hij
hoe hoeveel hun iemand iets ik in is ja je jij jou jouw jullie kan kon konden kunnen maar me meer met mij mijn moest
moet moeten mogen na naar niemand niet niets nog nooit nu of om omdat onder ons onze ook op over reeds s sinds te tegen
toch toen tot tussen u uit uw van veel vannacht voor waar waarom waarvan wanneer want waren was wat we weer wel welk
welke werd werden wie wij wil wilde wilden word worden wordt ze zei zich zij zijn zo zoals zonder zou zouden zulke
""",
}
# scripts that are one language's, or whose most spoken language is taken for all
_RUSSIAN = """
а без более был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще же
за здесь и из или им их к как какая какие какой когда кто ли мне меня мой моя мои мы на над надо нам нас не него нее нет
ни них но ну о об он она они оно от по под после при про с свой себя сейчас со так также там твой тебе тебя тем то тоже
только том ты у уже хотя чего чей чем что чтобы эта эти это этот я
"""
_ARABIC = """
في من على الى عن مع هذا هذه ذلك تلك هو هي هم هن انا نحن انت انتم كان كانت يكون تكون ما ماذا من متى اين كيف لماذا هل اي
كم لا لم لن ليس قد كل بعض عند عندي لي له لها لهم لنا لك التي الذي الذين الى او و ثم بل ان انه انها اذا لان بين بعد قبل
حتى كما لقد منذ هناك هنا فقط ايضا ذا بجانب عندك لدي لديك لديه
"""
# of scripts without blanks: single signs and pairs of them
_UNSPACED = """
的 了 是 在 我 你 您 他 她 它 们 这 那 不 也 就 和 与 或 吗 呢 吧 啊 把 被 很 个 么 什 哪
我们 你们 他们 她们 什么 怎么 哪里 哪儿 哪个 哪家 为什 时候 多少 多久 几个 是什 在哪
です ます でし まし した ませ せん ない いま いる ある あり こと もの これ それ あれ この その あの どこ いつ
なに なん だれ どう から まで ので のに には では とは へは への との にあ があ てい てく ても って った だっ
ょう しま され れま すか たの 何 誰 私 僕 彼
"""


def _folded(words: str) -> frozenset[str]:
    return frozenset(fold(words).split())


FUNCTION_WORDS: Mapping[Language, frozenset[str]] = MappingProxyType(
    {language: _folded(words) for language, words in _WORDS.items()}
)
RUSSIAN, ARABIC, UNSPACED = _folded(_RUSSIAN), _folded(_ARABIC), _folded(_UNSPACED)
