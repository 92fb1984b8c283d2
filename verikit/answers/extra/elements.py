"""The chemical elements by symbol, name and number, and the electrons of the noble gases."""

from __future__ import annotations

SYMBOLS = tuple(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
    "Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir "
    "Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh "
    "Fl Mc Lv Ts Og".split()
)
NAMES = tuple(
    "hydrogen helium lithium beryllium boron carbon nitrogen oxygen fluorine neon sodium magnesium aluminum "
    "silicon phosphorus sulfur chlorine argon potassium calcium scandium titanium vanadium chromium manganese "
    "iron cobalt nickel copper zinc gallium germanium arsenic selenium bromine krypton rubidium strontium yttrium "
    "zirconium niobium molybdenum technetium ruthenium rhodium palladium silver cadmium indium tin antimony "
    "tellurium iodine xenon cesium barium lanthanum cerium praseodymium neodymium promethium samarium europium "
    "gadolinium terbium dysprosium holmium erbium thulium ytterbium lutetium hafnium tantalum tungsten rhenium "
    "osmium iridium platinum gold mercury thallium lead bismuth polonium astatine radon francium radium actinium "
    "thorium protactinium uranium neptunium plutonium americium curium berkelium californium einsteinium fermium "
    "mendelevium nobelium lawrencium rutherfordium dubnium seaborgium bohrium hassium meitnerium darmstadtium "
    "roentgenium copernicium nihonium flerovium moscovium livermorium tennessine oganesson".split()
)
NUMBER = {symbol: i for i, symbol in enumerate(SYMBOLS, 1)}
BY_NAME = {name: SYMBOLS[i] for i, name in enumerate(NAMES)} | {"aluminium": "Al", "sulphur": "S", "caesium": "Cs"}
CORES = {"He": "1s2", "Ne": "He 2s2 2p6", "Ar": "Ne 3s2 3p6", "Kr": "Ar 3d10 4s2 4p6", "Xe": "Kr 4d10 5s2 5p6",
         "Rn": "Xe 4f14 5d10 6s2 6p6"}  # fmt: skip
