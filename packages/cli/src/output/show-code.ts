import type { Terminal } from '../terminal.ts'
import { qrLines } from './qr-text.ts'

/** Shows an activation code as a person's phone takes it: as a QR code and as text. */
export async function showCode(
  terminal: Terminal,
  { activation_code: text }: { readonly activation_code: string },
): Promise<void> {
  // Host names know no case, and upper case takes fewer modules.
  const [format = '', address = '', ...rest] = text.split('$')
  const shortest = [format, address.toUpperCase(), ...rest].join('$')
  terminal.out(await qrLines(shortest, terminal.columns !== undefined))
  terminal.out(`${text}\n`)
}
