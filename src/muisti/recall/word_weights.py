"""How much each word of a query says. Pure.

The weights are fixed: the share of a query that a memory has must not depend on how many memories
the vault holds, as an inverse document frequency does.
"""

from __future__ import annotations

import math
from functools import cache

from muisti.text.tokens import is_spaceless

LEAST = 0.25
"""The weight of the most common word. Stop words are removed before."""
FLAT = 50.0
"""The ranks of the first words differ little: up to here the weight hardly grows."""
PAIR = 0.5
"""The weight of two characters of a script without spaces: pairs overlap."""
_COMMON = """
first new two time say like back make school now year world may well three later citi around use
state person part know mani second universiti nation don way re get head didn team american de
born unit film sinc still long work south becom high day famili see right man eye hous season war
includ take live north call name much place howev go four group find win area away seri left home
music best hand number compani sever never last john album end good follow releas game play littl
begin district old want side hold earli counti ll leagu west face think govern march come small
general town june line base septemb look along internat air juli club januari octob august april
york east show member colleg father public five set station church next former novemb room parti
locat decemb age system love everi song water centuri bodi black night great woman singl ve build
larg popul river band white start servic top british open death king move local child februari
book door need presid order final road wasn due major die villag third ask turn st togeth receiv
main son serv differ behind feel power footbal law voic near park histori mother armi point front
help english street art late award young put publish countri divis across tell often french london
center six red lead light speci realli accord central half form origin give offic enough lose full
german player run busi communiti cup million land court develop short round ii km class stori
alway sure research almost director council la career thing island couldn car close forc better
free support control field student educ marri record big insid level continu jame militari
establish non return titl write foot william far co associ hard alreadi championship human western
depart hall role various product heart fire version televis royal produc act case societi region
present radio period least total keep england wife program brother mind special soon polit georg
creat abl reach david union join import social inform appear posit ground rock dark elect board
franc hair cours arm site polic girl instead real sound word moment summer project announc san
less past blue found al india america design consid northern god stop battl european outsid
describ track today languag hear profession low australia mile california green tri blood southern
scienc mayb match squar mouth video race leav daughter space museum chang middl common tv post
lake seven ten paul minist month chief canada sea similar modern bring rest hit mr floor event
thoma robert care kill train star week finish railway news health send exampl term michael current
despit gold stage fact dead popular germani probabl result pull friend stand money mi sign eventu
meet tour averag minut festiv deep kind decid usual eastern seem episod bed add tabl indian privat
charl rout avail idea throughout centr addit appoint style eight construct press mean wall remain
studi institut oh chines sometim possibl australian type brown forward process food debut
seat perform committe featur charact lot strong russian rang hour peter morn dr sell quick direct
guitar china list media uk smile coach provinc wouldn whole boy offici grand census europ attack
japanes henri cross alon action lower network wide washington japan hospit believ sister sir hadn
ship academi shoot bad involv largest bank futur especi mark movement section femal magazin plan
professor lord longer sit walk hill actual civil energi model size thus aircraft complet data
captain fight vocal richard bridg fourth stone medic manag self lip competit entir technolog feder
tournament bite pass hot independ kingdom mari spend fine doesn report jack fall rais stay true
studio sport replac pari saint leader theatr market capit parent spanish canadian earth cut degre
bay christian natur higher bill coast provid previous senior ft valley organiz confer queen secur
interest allow master earlier phone matter smith happen campaign los breath mid certain date
italian african artist deal industri republ collect librari primari older heavi attent africa
length finger command staff skin foreign governor okay medal sun cover job introduc chest hell
success reason standard novel trade sourc rise guy goal chapter nativ husband limit enter oper
mountain relat roman key texa cold channel tradit danc clear approxim nine van princ question
activ ireland silver author sens econom twenti isbn speed edit regular histor shake movi secretari
prior chicago read foundat view engin score airport properti readi immedi ladi contract navi
writer practic singer glass commiss requir forest cultur access attend test coupl cathol martin
catch execut chair shoulder hope decis defeat municip structur offer slowli pain ice paper mission
note individu plant except comput figur relationship issu signific loss gun ago highest male
mexico problem distanc commerci annual famous drive neck surfac caus itali understand greek
highway wrong hotel joseph doubl castl incom review assembl bass initi parliament experi
particular window drop miss babi break edg rememb polici carri stadium bar sex angel evid assist
soviet upper step wing youth financi actor numer nod arriv sorri complex beauti victori templ
chanc perhap metal bishop lee launch tree le retir subject prize contain yeah theori empir sudden
wait trust happi camp champion religi zealand port ancient tom corner repres watch legal anti
justic materi simpli respons loui fast answer straight increas rate administr virginia el overal
winner basketbal leg guard beyond cast doctor mm flight cost effect winter larger chairman grow
isn pay fail select hurt fort box regiment journal edward pretti irish scene spring junior mike
fellow beach marriag rule oil florida expect nearbi congress sam peac recent iii subsequ cell
varieti agre poor joe pacif attempt wood democrat piec prime rural touch township soldier
pennsylvania closer claim jone physic editor fill genus specif super mom therefor status fear
store wale minor spain tower focus vice frank parish separ golden hors fifth branch stare secret
basebal exact choic discov travel compos truth russia ball color kiss dad wind ring refer digit
greater metr slight crew troop goe hundr
"""
"""The most common English words without stop words, as index words, the most common first.

They are from the beginning of the vocabulary of BERT, which is sorted by frequency.
"""


def weigh_word(word: str) -> float:
    """Return the weight of an index word: 1 for an uncommon one."""
    rank = _rank_common_words().get(word)
    if rank is None:
        return PAIR if len(word) == 2 and is_spaceless(word) else 1.0
    common = _rank_common_words()
    return LEAST + (1 - LEAST) * math.log1p(rank / FLAT) / math.log1p(len(common) / FLAT)


@cache
def _rank_common_words() -> dict[str, int]:
    return {word: rank for rank, word in enumerate(_COMMON.split())}
