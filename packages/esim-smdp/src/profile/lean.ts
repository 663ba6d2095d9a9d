import { ELEMENT, SERVICE } from './elements.ts'
import { FILE } from './files.ts'
import type { ProfileElement } from './read.ts'
import { SERVICES } from './services.ts'
import { branch, leaf, type Piece, withEach, without, withPart } from './tree.ts'

/** Elements that open a directory of their own: what follows says something of it. */
const OPENERS: readonly number[] = [ELEMENT.mf, ELEMENT.telecom, ELEMENT.usim, ELEMENT.isim, ELEMENT.csim]
/** CSIM (3GPP2), and the directory for a SUCI that the USIM calculates. */
const NEEDLESS: readonly number[] = [
  ELEMENT.csim,
  ELEMENT['opt-csim'],
  ELEMENT.cdmaParameter,
  ELEMENT['df-saip'],
]
/** File templates of those, without the arc that all share. TCA 3.3 annex. */
const NEEDLESS_TEMPLATES: readonly number[] = [0x0a, 0x0b, 0x0e]
/** List of mandatory file templates in a header. TCA 3.3, ProfileHeader. */
const FILE_TEMPLATES = 0xa6
/** How AIDs of 3GPP2 begin. TS 101 220 annex. */
const RID_3GPP2 = Uint8Array.of(0xa0, 0x00, 0x00, 0x03, 0x43)
/** EF.DIR of the MF, EF.UST of the USIM. */
const DIR = 0xa5
const UST = 0xa8
/** Services of EF.UST, by octet: 124 and 125, SUCI by the phone and by the USIM; 122 to 126 and 129 to 136, files of 5G. TS 31.102 §4.2.8. */
const SUCI: ReadonlyMap<number, number> = new Map([[15, 0x18]])
const OF_5G: ReadonlyMap<number, number> = new Map([
  [15, 0x3e],
  [16, 0xff],
])
/** The version before profiles had files of 5G. TCA 2.1. */
const VERSION_BEFORE_5G = 1
const TEMPLATE_5G = 0x0d

/**
 * The template without what no network of this kind uses, so that an eUICC need not have it: CSIM, and SUCI by the USIM, which
 * phones calculate by themselves (`withSuci`; the null scheme without a key, TS 33.501 §6.12.2). An eUICC refuses a profile whose
 * mandatory services and file templates it has not. It is smaller by a third.
 */
export function lean(elements: readonly ProfileElement[]): readonly ProfileElement[] {
  let opened = 0
  return elements.flatMap((element) => {
    const { piece } = element
    if (OPENERS.includes(piece.tag)) opened = piece.tag
    const isOfCsim = piece.tag === ELEMENT.pinCodes && opened === ELEMENT.csim
    return NEEDLESS.includes(piece.tag) || isOfCsim ? [] : [{ ...element, piece: leanPiece(piece) }]
  })
}

function leanPiece(piece: Piece): Piece {
  if (piece.tag === ELEMENT.header) return leanHeader(piece)
  if (piece.tag === ELEMENT.mf) return withEach(piece, DIR, withoutCsimEntry)
  if (piece.tag === ELEMENT.usim) return withoutServices(piece, SUCI)
  return piece
}

/** The same for eUICCs that know no files of 5G: a phone has LTE by it, and 5G without concealing the IMSI. */
export function without5g(elements: readonly ProfileElement[]): readonly ProfileElement[] {
  return elements
    .filter(({ piece }) => piece.tag !== ELEMENT['df-5gs'])
    .map((element) => ({ ...element, piece: pieceWithout5g(element.piece) }))
}

function pieceWithout5g(piece: Piece): Piece {
  if (piece.tag === ELEMENT.usim) return withoutServices(piece, OF_5G)
  if (piece.tag !== ELEMENT.header) return piece
  return withoutTemplates(withPart(piece, leaf(0x81, Uint8Array.of(VERSION_BEFORE_5G))), [TEMPLATE_5G])
}

function withoutServices(usim: Piece, services: ReadonlyMap<number, number>): Piece {
  return withEach(usim, UST, (file) =>
    withEach(file, FILE.content, ({ tag, value }) =>
      leaf(
        tag,
        value.map((octet, i) => octet & ~(services.get(i) ?? 0)),
      ),
    ),
  )
}

function leanHeader(header: Piece): Piece {
  const services = withEach(header, SERVICES, (list) =>
    without(
      list,
      ...[SERVICE.csim, SERVICE.cave, SERVICE['get-identity']],
      ...[SERVICE['profile-a-x25519'], SERVICE['profile-b-p256']],
    ),
  )
  return withoutTemplates(services, NEEDLESS_TEMPLATES)
}

function withoutTemplates(header: Piece, templates: readonly number[]): Piece {
  return withEach(header, FILE_TEMPLATES, (list) => {
    const parts = list.parts ?? []
    return branch(
      list.tag,
      parts.filter(({ value }) => !templates.includes(value.at(-1) ?? 0)),
    )
  })
}

/** EF.DIR without the application of CSIM, and without the gap before it: it is the last one. */
function withoutCsimEntry(file: Piece): Piece {
  const parts = file.parts ?? []
  const at = parts.findIndex(
    ({ tag, value }) => tag === FILE.content && Buffer.from(value).includes(Buffer.from(RID_3GPP2)),
  )
  if (at < 0) return file
  const gap = parts[at - 1]?.tag === FILE.offset ? 1 : 0
  return branch(file.tag, parts.toSpliced(at - gap, 1 + gap))
}
