import {
  BATCH_ID_PATTERN,
  csvLine,
  type HandoutCodes,
  type ImsiHash,
  LANGUAGES,
  type Language,
  notFound,
  objectSchema,
  type PrintedCode,
  type Route,
  route,
  type SimCard,
  timestampFromMs,
} from '@steeple/contracts'
import { escapedHtml, printedPage } from '@steeple/telecom'
import { activationOf, qrText } from '../codes/activation.ts'
import { needEnabled } from '../codes/conflict.ts'
import { ESIM_CODE } from '../codes/restored.ts'
import type { EsimParts } from '../parts.ts'
import { AT_ONCE, codesOfSims, printableCodes } from '../store/code-queries.ts'
import { providedOf } from '../store/provider-store.ts'
import type { CodeRow } from '../store/rows.ts'

/** Those that a phone can use now: no restore has closed them, and while eSIM is off those of providers alone. */
async function usableOf(
  { closed, context }: Pick<EsimParts, 'closed' | 'context'>,
  rows: readonly CodeRow[],
): Promise<readonly CodeRow[]> {
  const tokens = rows.map(({ token }) => token)
  const gone = await closed.among(ESIM_CODE, tokens)
  const open = rows.filter(({ token }) => !gone.has(token))
  if (context.config.enabled) return open
  const provided = await providedOf(context.db, tokens)
  return open.filter(({ token }) => provided.has(token))
}

/** The codes of a batch that a phone can use now, some at a time, none of them empty. */
async function* usableRows(
  parts: Pick<EsimParts, 'closed' | 'context'>,
  batch: string,
  perPage: number = AT_ONCE,
): AsyncGenerator<readonly CodeRow[], undefined> {
  for (let after = ''; ; ) {
    const rows = await printableCodes(parts.context.db, batch, after, perPage)
    const usable = await usableOf(parts, rows)
    if (usable.length > 0) yield usable
    const last = rows.at(-1)
    if (rows.length < perPage || last === undefined) return undefined
    after = last.token
  }
}

interface SheetCard {
  readonly activationCode: string
  readonly label: string
  readonly iccidLast4: string
  readonly isConfirmed: boolean
  /** `2026-12-22` */
  readonly expires: string
}

/** Cards of a page: two columns of five. */
const PER_PAGE = 10
/** Modules of white around a code. ISO/IEC 18004 §9.1. */
const QUIET_MODULES = 4

const STYLE = `
@page { size: A4 portrait; margin: 0 }
* { box-sizing: border-box; margin: 0 }
html { background: #fff; color: #000; font: 9pt/1.35 system-ui, sans-serif }
.page { position: relative; width: 210mm; height: 297mm; padding: 16mm 15mm; display: grid; overflow: hidden;
  grid-template-columns: 90mm 90mm; grid-template-rows: repeat(5, 53mm); break-after: page }
.page:last-child { break-after: auto }
.card { position: relative; padding: 3mm 4mm 2mm 2mm; display: grid; grid-template: 40mm 1fr / 40mm 1fr; column-gap: 2mm;
  overflow: hidden }
.card svg { width: 40mm; height: 40mm; display: block; shape-rendering: crispEdges }
.card > div { min-width: 0; max-height: 40mm; padding-top: 3mm; overflow: hidden }
h2 { font-size: 10.5pt; line-height: 1.2; overflow-wrap: anywhere; max-height: 3.6em; overflow: hidden }
.end { font-variant-numeric: tabular-nums; margin-top: 1mm }
.how { margin-top: 1.5mm; font-size: 8pt }
.code { grid-column: 1 / 3; padding-left: 4mm; font: 6.5pt/1.25 ui-monospace, monospace; overflow-wrap: anywhere }
.cut::before, .cut::after { content: ""; position: absolute; width: 4mm; height: 4mm; border: 0 solid #888 }
.cut::before { left: 0; top: 0; border-width: .2mm 0 0 .2mm }
.cut::after { right: 0; bottom: 0; border-width: 0 .2mm .2mm 0 }
@media screen { html { background: #ddd } .page { background: #fff; margin: 6mm auto; box-shadow: 0 1mm 4mm #0004 } }
`

const PAGE = printedPage(STYLE)

/** What a card says. `{until}` is a date as `2026-12-22`. */
const WORDS: Readonly<
  Record<
    Language,
    { readonly title: string; readonly qr: string; readonly scan: string; readonly code: string }
  >
> = {
  de: {
    title: 'eSIM-Karten der Serie',
    qr: 'QR-Code einer eSIM',
    scan: 'Scannen Sie den Code bis {until} unter „eSIM hinzufügen“.',
    code: 'Das Telefon fragt nach einem Bestätigungscode. Er steht nicht auf dieser Karte.',
  },
  en: {
    title: 'eSIM cards of batch',
    qr: 'QR code of an eSIM',
    scan: 'Scan the code under “Add eSIM” by {until}.',
    code: 'The phone asks for a confirmation code. It is not on this card.',
  },
  es: {
    title: 'Tarjetas eSIM del lote',
    qr: 'Código QR de una eSIM',
    scan: 'Escanee el código en «Añadir eSIM» antes del {until}.',
    code: 'El teléfono pide un código de confirmación. No está en esta tarjeta.',
  },
  fr: {
    title: 'Cartes eSIM du lot',
    qr: 'Code QR d’une eSIM',
    scan: 'Scannez le code sous « Ajouter une eSIM » avant le {until}.',
    code: 'Le téléphone demande un code de confirmation. Il n’est pas sur cette carte.',
  },
  pt: {
    title: 'Cartões eSIM do lote',
    qr: 'Código QR de um eSIM',
    scan: 'Leia o código em “Adicionar eSIM” até {until}.',
    code: 'O telefone pede um código de confirmação. Ele não está neste cartão.',
  },
}

/** One page of at most ten cards. */
async function sheetPage(cards: readonly SheetCard[], language: Language): Promise<string> {
  const printed = await Promise.all(cards.map(async (one) => card(one, await printedCode(one, language))))
  return `<section class="page">\n${printed.join('')}</section>\n`
}

/** The QR code of a card, and what to do with it. */
async function printedCode(
  { activationCode, isConfirmed, expires }: Omit<SheetCard, 'label' | 'iccidLast4'>,
  language: Language,
): Promise<PrintedCode> {
  const { qr, scan, code } = WORDS[language]
  // Few boxes print any: what draws them is not loaded before.
  const { qrPath } = await import('../codes/qr.ts')
  const { path, modules } = qrPath(qrText(activationCode))
  const side = modules + 2 * QUIET_MODULES
  const view = `-${QUIET_MODULES} -${QUIET_MODULES} ${side} ${side}`
  return {
    kind: 'eSIM',
    svg: `<svg viewBox="${view}" role="img" aria-label="${qr}"><path d="M-${QUIET_MODULES}-${QUIET_MODULES}h${side}v${side}H-${QUIET_MODULES}z" fill="#fff"/><path d="${path}"/></svg>`,
    how: `${scan.replace('{until}', expires)}${isConfirmed ? ` ${code}` : ''}`,
  }
}

function card({ activationCode, label, iccidLast4 }: SheetCard, { svg, how }: PrintedCode): string {
  return `<article class="card cut">
${svg}
<div>
<h2>${escapedHtml(label)}</h2>
<p class="end">eSIM …${escapedHtml(iccidLast4)}</p>
<p class="how">${escapedHtml(how)}</p>
</div>
<p class="code">${escapedHtml(activationCode)}</p>
</article>
`
}

interface SheetQuery {
  readonly batch: string
  readonly language?: Language
}

/** Characters of a date in a timestamp. */
const DATE = 10

/** `GET /v1/esim/sheet` */
export function sheetRoute(parts: EsimParts): Route {
  return route<unknown, SheetQuery, unknown>({
    method: 'GET',
    path: '/v1/esim/sheet',
    role: 'sim:issuer',
    summary: 'Get the cards of a batch to print',
    description:
      'A page of HTML that loads nothing: the codes of a batch that can still be downloaded, ten cards on an A4 page, with cut marks. In English unless you name another `language`.',
    schema: {
      query: objectSchema(
        { batch: { type: 'string', pattern: BATCH_ID_PATTERN }, language: { enum: LANGUAGES } },
        ['batch'],
      ),
    },
    produces: ['text/html'],
    errors: ['validation_failed', 'esim_disabled', 'not_found', 'store_corrupt'],
    handle: async ({ query: { batch, language = 'en' } }) => {
      const pages = pagesOf(parts, batch, language)
      const first = await pages.next()
      if (first.done === true) {
        needEnabled(parts)
        throw notFound(`code of batch ${batch} that could be printed; issue codes for it first`)
      }
      return {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': PAGE.policy,
          'cache-control': 'no-store',
        },
        stream: sheet(PAGE.head(`${WORDS[language].title} ${batch}`, language) + first.value, pages),
      }
    },
  })
}

async function* sheet(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* rest
  yield PAGE.foot
}

async function* pagesOf(
  parts: EsimParts,
  batch: string,
  language: Language,
): AsyncGenerator<string, undefined> {
  for await (const rows of usableRows(parts, batch, PER_PAGE))
    yield await sheetPage(await cardsOf(parts, rows), language)
  return undefined
}

/** What of a code is printed. */
function printedOf({ vault }: EsimParts, row: CodeRow): Omit<SheetCard, 'label' | 'iccidLast4'> {
  return {
    activationCode: activationOf(vault, row),
    isConfirmed: row.confirmation_sealed !== null,
    expires: timestampFromMs(row.expires_at_ms).slice(0, DATE),
  }
}

/** The codes of SIMs for handouts of others; while eSIM is off those of providers alone. */
export function handoutCodes(parts: EsimParts): HandoutCodes {
  const { context } = parts
  return {
    printed: async (imsis, language) => {
      const rows = await codesOfSims(context.db, imsis)
      const open = await usableOf(
        parts,
        rows.filter(({ state }) => state === 'released'),
      )
      const printed = open.map(
        async (row) =>
          // A hash of a row is one.
          [row.hash as ImsiHash, await printedCode(printedOf(parts, row), language)] as const,
      )
      return new Map(await Promise.all(printed))
    },
  }
}

async function cardsOf(parts: EsimParts, rows: readonly CodeRow[]): Promise<readonly SheetCard[]> {
  // Hashes of rows are hashes.
  const cards = await parts.issuer.cards(rows.map(({ hash }) => hash as SimCard['imsi']))
  const labels = new Map<string, string | undefined>(cards.map(({ imsi, label }) => [imsi, label]))
  return rows.map((row) => ({
    ...printedOf(parts, row),
    label: labels.get(row.hash) ?? 'eSIM',
    iccidLast4: row.iccid_last4,
  }))
}

interface MdmQuery {
  readonly batch_id: string
}

/** `GET /v1/esim/mdm-list` */
export function mdmRoute(parts: EsimParts): Route {
  return route<unknown, MdmQuery, unknown>({
    method: 'GET',
    path: '/v1/esim/mdm-list',
    role: 'sim:issuer',
    summary: 'Get the codes of a batch for a device management (MDM)',
    description:
      'CSV with ICCID, ActivationCode, SmdpAddress, MatchingId and Label of each code of the batch that can still be downloaded, own codes and ' +
      'those of providers. Anyone who has it can download the profiles.',
    schema: {
      query: objectSchema({ batch_id: { type: 'string', pattern: BATCH_ID_PATTERN } }, ['batch_id']),
    },
    produces: ['text/csv'],
    errors: ['validation_failed', 'not_found', 'store_corrupt'],
    handle: async ({ query: { batch_id: batch } }) => {
      const pages = usableRows(parts, batch)
      const first = await pages.next()
      if (first.done === true) throw notFound(`code of batch ${batch} that can be downloaded`)
      return {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="esim-${batch}.csv"`,
          'cache-control': 'no-store',
        },
        stream: lines(parts, first.value, pages),
      }
    },
  })
}

async function* lines(
  parts: EsimParts,
  first: readonly CodeRow[],
  rest: AsyncGenerator<readonly CodeRow[], undefined>,
): AsyncGenerator<string> {
  yield csvLine(['ICCID', 'ActivationCode', 'SmdpAddress', 'MatchingId', 'Label']) +
    (await linesOf(parts, first))
  for await (const rows of rest) yield await linesOf(parts, rows)
}

async function linesOf({ issuer, vault }: EsimParts, rows: readonly CodeRow[]): Promise<string> {
  // Hashes of rows are hashes.
  const cards = await issuer.cards(rows.map(({ hash }) => hash as ImsiHash))
  const labels = new Map<string, string | undefined>(cards.map(({ imsi, label }) => [imsi, label]))
  const made = rows.map(async (row) => {
    const code = activationOf(vault, row)
    const sim = await issuer.sim(row.hash as ImsiHash)
    const iccid = sim === undefined ? '' : Buffer.from(sim.iccid()).toString('latin1')
    return csvLine([iccid, code, row.smdp_address, code.split('$')[2], labels.get(row.hash)])
  })
  return (await Promise.all(made)).join('')
}
