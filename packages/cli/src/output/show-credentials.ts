import type { Json } from '../client/service.ts'
import type { Terminal } from '../terminal.ts'
import { type PrintOptions, printRecord } from './print.ts'
import { fields, printable } from './table.ts'

const ONCE = 'This is shown once and stored nowhere as it is. Keep it now.\n'

/** What a person gets once: the QR code for the authenticator, recovery codes, and a password that was drawn. */
export async function showCredentials(terminal: Terminal, options: PrintOptions, body: Json): Promise<void> {
  if (options.json === true) return printRecord(terminal, options, body)
  const { totp_uri, recovery_codes, password, ...known } = body
  terminal.out(fields(known))
  if (typeof password === 'string') terminal.out(`\nPassword:\n  ${printable(password)}\n`)
  if (typeof totp_uri === 'string') {
    terminal.out('\nFor the authenticator app:\n')
    terminal.out(await qrLines(totp_uri, terminal.columns !== undefined))
    terminal.out(`${printable(totp_uri)}\n`)
  }
  if (Array.isArray(recovery_codes)) {
    terminal.out('\nRecovery codes, each good once in place of a code of the app:\n')
    for (const code of recovery_codes) terminal.out(`  ${printable(String(code))}\n`)
  }
  terminal.err(ONCE)
}

/** An invitation, and how it is accepted. */
export function showInvitation(terminal: Terminal, options: PrintOptions, body: Json): void {
  printRecord(terminal, options, body)
  if (options.json === true) return
  terminal.err(
    `${ONCE}The person with the link opens it in a browser, or gives it to svc user accept on standard input.\n`,
  )
}

/** Modules of white around it, without which scanners miss it. ISO/IEC 18004 §9.1. */
const QUIET_MODULES = 4
/** Black on white by numbers of the fixed part of the palette: a theme changes the names of colours. */
const INK = 16
const PAPER = 231

/**
 * A QR code for a screen, two rows of modules in one line, black on white whatever the screen's colours are. Without colours
 * (`isScreen` false) its light modules are blocks: what shows it must be dark.
 */
export async function qrLines(text: string, isScreen: boolean): Promise<string> {
  const { create } = await import('qrcode')
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const side = modules.size + 2 * QUIET_MODULES
  const isDark = (row: number, column: number): boolean => {
    const [y, x] = [row - QUIET_MODULES, column - QUIET_MODULES]
    return (
      y >= 0 && x >= 0 && y < modules.size && x < modules.size && modules.data[y * modules.size + x] === 1
    )
  }
  const lines: string[] = []
  for (let row = 0; row < side; row += 2) {
    const cells = Array.from({ length: side }, (_, column) => ({
      top: isDark(row, column),
      bottom: row + 1 < side && isDark(row + 1, column),
    }))
    lines.push(isScreen ? coloured(cells) : cells.map(plain).join(''))
  }
  return `${lines.join('\n')}\n`
}

interface Cell {
  readonly top: boolean
  readonly bottom: boolean
}

/** The upper half block has the colour of the upper module, what is behind it that of the lower one. */
function coloured(cells: readonly Cell[]): string {
  let line = ''
  let before = ''
  for (const { top, bottom } of cells) {
    const colours = `\u001b[38;5;${top ? INK : PAPER};48;5;${bottom ? INK : PAPER}m`
    line += `${colours === before ? '' : colours}▀`
    before = colours
  }
  return `${line}\u001b[0m`
}

function plain({ top, bottom }: Cell): string {
  if (top) return bottom ? ' ' : '▄'
  return bottom ? '▀' : '█'
}
