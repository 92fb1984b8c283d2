"""Decks of slides written for tests, part by part: also those that no library writes."""

import io
import zipfile

NS = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
INCH = 914_400
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08%c\0\0\0\0\0\0\0\0\0IDAT"
OPAQUE, SEE_THROUGH = PNG.replace(b"%c", b"\2"), PNG.replace(b"%c", b"\6")
THEME = (
    f'<a:theme {NS} name="T"><a:themeElements><a:clrScheme name="C">'
    '<a:dk1><a:sysClr val="windowText" lastClr="000000"/></a:dk1><a:lt1><a:srgbClr val="FFFFFF"/></a:lt1>'
    '<a:dk2><a:srgbClr val="1F497D"/></a:dk2><a:lt2><a:srgbClr val="EEECE1"/></a:lt2>'
    + "".join(
        f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>'
        for name, value in (("accent1", "4F81BD"), ("accent2", "C0504D"), ("hlink", "0000FF"), ("folHlink", "800080"))
    )
    + '</a:clrScheme><a:fontScheme name="F"><a:majorFont><a:latin typeface="Calibri"/></a:majorFont>'
    '<a:minorFont><a:latin typeface="Calibri"/></a:minorFont></a:fontScheme><a:fmtScheme name="S"><a:fillStyleLst>'
    '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill></a:fillStyleLst><a:bgFillStyleLst>'
    '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill></a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>'
)
TITLE_FRAME, BODY_FRAME = (0.5, 0.3, 9, 1), (0.5, 1.75, 9, 4.95)
MAP = 'bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" hlink="hlink" folHlink="folHlink"'
STYLES = (
    '<p:txStyles><p:titleStyle><a:lvl1pPr algn="ctr"><a:buNone/><a:defRPr sz="4400"/></a:lvl1pPr></p:titleStyle>'
    '<p:bodyStyle><a:lvl1pPr marL="342900"><a:buChar char="•"/><a:defRPr sz="2800"/></a:lvl1pPr>'
    '<a:lvl2pPr marL="742950"><a:buChar char="–"/><a:defRPr sz="2400"/></a:lvl2pPr></p:bodyStyle></p:txStyles>'
)


def place(x, y, wide, high, rot=0):
    """A transform in inches."""
    turned = f' rot="{rot * 60_000}"' if rot else ""
    return (
        f'<a:xfrm{turned}><a:off x="{round(x * INCH)}" y="{round(y * INCH)}"/>'
        f'<a:ext cx="{round(wide * INCH)}" cy="{round(high * INCH)}"/></a:xfrm>'
    )


def solid(colour):
    """A fill."""
    return f'<a:solidFill><a:srgbClr val="{colour}"/></a:solidFill>'


def run(text, inside="", **attributes):
    """A run."""
    told = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<a:r><a:rPr{told}>{inside}</a:rPr><a:t>{text}</a:t></a:r>"


def para(*runs, inside="", **attributes):
    """A paragraph of runs; texts become runs."""
    told = "".join(f' {name}="{value}"' for name, value in attributes.items())
    made = "".join(one if one.startswith("<") else run(one) for one in runs)
    return f"<a:p><a:pPr{told}>{inside}</a:pPr>{made}</a:p>"


def words(*paragraphs, body="", style=""):
    """The text of a frame."""
    made = "".join(one if one.startswith("<a:p>") else para(one) for one in paragraphs)
    attributes, inside = (body, "") if body.startswith(" ") else ("", body)
    return f"<p:txBody><a:bodyPr{attributes}>{inside}</a:bodyPr><a:lstStyle>{style}</a:lstStyle>{made}</p:txBody>"


def details(kind, ph="", hidden=False, number=2):
    """The names of a shape."""
    told = f"<p:ph {ph}/>" if ph else ""
    away = ' hidden="1"' if hidden else ""
    name = {"sp": "Sp", "pic": "Pic", "graphicFrame": "GraphicFrame", "grpSp": "GrpSp"}[kind]
    return (
        f'<p:nv{name}Pr><p:cNvPr id="{number}" name="x"{away}/><p:cNv{name}Pr/><p:nvPr>{told}</p:nvPr></p:nv{name}Pr>'
    )


def box(
    *paragraphs,
    at=(1, 2, 6, 1),
    fill="<a:noFill/>",
    geometry="rect",
    hidden=False,
    body="",
    style="",
    rot=0,
    number=2,
    more="",
):
    """A text box or a shape."""
    text = words(*paragraphs, body=body, style=style) if paragraphs else ""
    return (
        f"<p:sp>{details('sp', hidden=hidden, number=number)}<p:spPr>{place(*at, rot=rot)}"
        f'<a:prstGeom prst="{geometry}"><a:avLst/></a:prstGeom>{fill}{more}</p:spPr>{text}</p:sp>'
    )  # fmt: skip


def holder(kind, *paragraphs, idx="", inside="", body=""):
    """A placeholder that has its place from the layout or the master."""
    ph = (f'type="{kind}" ' if kind else "") + (f'idx="{idx}"' if idx else "")
    text = words(*paragraphs, body=body)
    return f"<p:sp>{details('sp', ph)}<p:spPr>{inside}</p:spPr>{text}</p:sp>"


def group(*shapes, at=(1, 2, 6, 1), inner=None, hidden=False, flip=""):
    """A group; `inner` is the frame that its children are told in."""
    x, y, wide, high = inner or at
    child = (
        f'<a:chOff x="{round(x * INCH)}" y="{round(y * INCH)}"/>'
        f'<a:chExt cx="{round(wide * INCH)}" cy="{round(high * INCH)}"/>'
    )
    transform = place(*at).replace("</a:xfrm>", child + "</a:xfrm>")
    transform = transform.replace("<a:xfrm", f'<a:xfrm flip{flip}="1"', 1) if flip else transform
    return f"<p:grpSp>{details('grpSp', hidden=hidden)}<p:grpSpPr>{transform}</p:grpSpPr>{''.join(shapes)}</p:grpSp>"


def picture(identity="rId9", at=(1, 2, 6, 1), hidden=False, link="embed"):
    """A picture of the file."""
    return (
        f'<p:pic>{details("pic", hidden=hidden)}<p:blipFill><a:blip r:{link}="{identity}"/></p:blipFill>'
        f'<p:spPr>{place(*at)}<a:prstGeom prst="rect"/></p:spPr></p:pic>'
    )


def table(rows, at=(1, 2, 6, 2), style="", cell="", flags=""):
    """A table; a cell may be a text, or its whole XML."""
    wide, high = at[2] / len(rows[0]), at[3] / len(rows)
    grid = "".join(f'<a:gridCol w="{round(wide * INCH)}"/>' for _ in rows[0])
    named = f"<a:tableStyleId>{style}</a:tableStyleId>" if style else ""
    lines = "".join(
        f'<a:tr h="{round(high * INCH)}">' + "".join(_cell(one, cell) for one in row) + "</a:tr>" for row in rows
    )
    return (
        f"<p:graphicFrame>{details('graphicFrame')}{place(*at).replace('a:xfrm', 'p:xfrm')}<a:graphic><a:graphicData>"
        f"<a:tbl><a:tblPr {flags}>{named}</a:tblPr><a:tblGrid>{grid}</a:tblGrid>{lines}</a:tbl>"
        "</a:graphicData></a:graphic></p:graphicFrame>"
    )


def _cell(one, inside):
    if one.startswith("<a:tc"):
        return one
    text = words(one).replace("p:txBody", "a:txBody")
    return f"<a:tc>{text}<a:tcPr>{inside}</a:tcPr></a:tc>"


def slide(*shapes, ground="", notes="", files=(), after="", **attributes):
    """A slide: its XML, its notes and the files that it refers to as (id, kind, path, content)."""
    told = "".join(f' {name}="{value}"' for name, value in attributes.items())
    paint = f"<p:bg><p:bgPr>{ground}</p:bgPr></p:bg>" if ground else ""
    xml = f"<p:sld {NS}{told}><p:cSld>{paint}<p:spTree>{''.join(shapes)}</p:spTree></p:cSld>{after}</p:sld>"
    return xml, notes, tuple(files)


def relations(*targets):
    """A part of relationships, of (id, kind, target)."""
    told = "".join(
        f'<Relationship Id="{identity}" Type="{KINDS}/{kind}" Target="{target}"'
        + (' TargetMode="External"' if "://" in target else "") + "/>"
        for identity, kind, target in targets
    )  # fmt: skip
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{told}</Relationships>'


def parts(*slides, layout="", master="", theme=THEME, size=(10, 7.5), presentation="", bg=""):
    """The parts of a deck by their names."""
    title = holder("title", "Click", inside=place(*TITLE_FRAME))
    body = holder("body", "Click", idx="1", inside=place(*BODY_FRAME))
    made = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relations(("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/slideMasters/slideMaster1.xml": f"<p:sldMaster {NS}><p:cSld>{bg}<p:spTree>{title}{body}{master}</p:spTree>"
        f"</p:cSld><p:clrMap {MAP}/>{STYLES}</p:sldMaster>",
        "ppt/slideMasters/_rels/slideMaster1.xml.rels": relations(("rId1", "theme", "../theme/theme1.xml")),
        "ppt/slideLayouts/slideLayout1.xml": f"<p:sldLayout {NS}><p:cSld><p:spTree>{holder('title', 'Click')}"
        f"{holder('', 'Click', idx='1')}{layout}</p:spTree></p:cSld></p:sldLayout>",
        "ppt/slideLayouts/_rels/slideLayout1.xml.rels": relations(
            ("rId1", "slideMaster", "../slideMasters/slideMaster1.xml")
        ),
        "ppt/theme/theme1.xml": theme,
    }
    listed, known = "", []
    for number, (xml, notes, files) in enumerate(slides, 1):
        listed += f'<p:sldId id="{255 + number}" r:id="rId{number}"/>'
        known.append((f"rId{number}", "slide", f"slides/slide{number}.xml"))
        made[f"ppt/slides/slide{number}.xml"] = xml
        own = [("rId1", "slideLayout", "../slideLayouts/slideLayout1.xml")]
        if notes:
            own.append(("rId2", "notesSlide", f"../notesSlides/notesSlide{number}.xml"))
            made[f"ppt/notesSlides/notesSlide{number}.xml"] = (
                f"<p:notes {NS}><p:cSld><p:spTree>{holder('hdr', 'Header')}{holder('body', notes, idx='1')}"
                f"</p:spTree></p:cSld></p:notes>"
            )
        for identity, kind, path, content in files:
            own.append((identity, kind, path if "://" in path else f"../{path}"))
            if "://" not in path:
                made[f"ppt/{path}"] = content
        made[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(*own)
    made["ppt/presentation.xml"] = (
        f"<p:presentation {NS}><p:sldIdLst>{listed}</p:sldIdLst>"
        f'<p:sldSz cx="{round(size[0] * INCH)}" cy="{round(size[1] * INCH)}"/>{presentation}</p:presentation>'
    )
    made["ppt/_rels/presentation.xml.rels"] = relations(*known)
    return made


def packed(made):
    """A zip of parts by their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in made.items():
            archive.writestr(name, content)
    return out.getvalue()


def deck(*slides, **options):
    """A deck as bytes."""
    return packed(parts(*slides, **options))
