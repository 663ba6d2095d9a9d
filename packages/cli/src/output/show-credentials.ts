import type { Json } from '../client/service.ts'
import type { Terminal } from '../terminal.ts'
import { type PrintOptions, printRecord } from './print.ts'
import { qrLines } from './qr-text.ts'
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
