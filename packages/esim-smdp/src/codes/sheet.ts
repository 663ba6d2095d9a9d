import type { Language, PrintedCode } from '@steeple/contracts'
import { escapedHtml, printedPage } from '@steeple/telecom'
import { qrText } from './activation.ts'

export interface SheetCard {
  readonly activationCode: string
  readonly label: string
  readonly iccidLast4: string
  readonly isConfirmed: boolean
  /** `2026-12-22` */
  readonly expires: string
}

/** Cards of a page: two columns of five. */
export const PER_PAGE = 10
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
export const SHEET_POLICY: string = PAGE.policy

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

/** What stands before the pages of a sheet. */
export function sheetHead(batch: string, language: Language): string {
  return PAGE.head(`${WORDS[language].title} ${batch}`, language)
}

/** What stands behind them. */
export const SHEET_FOOT: string = PAGE.foot

/** One page of at most ten cards. */
export async function sheetPage(cards: readonly SheetCard[], language: Language): Promise<string> {
  const printed = await Promise.all(cards.map(async (one) => card(one, await printedCode(one, language))))
  return `<section class="page">\n${printed.join('')}</section>\n`
}

/** The QR code of a card, and what to do with it. */
export async function printedCode(
  { activationCode, isConfirmed, expires }: Omit<SheetCard, 'label' | 'iccidLast4'>,
  language: Language,
): Promise<PrintedCode> {
  const { qr, scan, code } = WORDS[language]
  // Few boxes print any: what draws them is not loaded before.
  const { qrPath } = await import('./qr.ts')
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
