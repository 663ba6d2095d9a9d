import { parseArgs } from 'node:util'

/** A request to the control API. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly body?: string
}

/** The request of `esim`, `esims`, `esim-disable` and the like; undefined when the words are of no use. */
export function esimCallOf(command: string, words: readonly string[]): Call | undefined {
  if (command === 'esims') return { method: 'GET', path: '/esims' }
  if (command === 'esim') return esimCall(words)
  const [, action] = /^esim-(disable|enable|delete)$/.exec(command) ?? []
  const [name] = words
  if (action === undefined || name === undefined) return undefined
  return { method: 'POST', path: `/esims/${encodeURIComponent(name)}/${action}` }
}

function esimCall(words: readonly string[]): Call | undefined {
  const options = {
    'confirmation-code': { type: 'string' },
    curve: { type: 'string' },
    euicc: { type: 'string' },
    server: { type: 'string' },
  } as const
  const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true })
  const [activationCode, ...more] = positionals
  if (activationCode === undefined || more.length > 0) return undefined
  const { 'confirmation-code': confirmationCode, ...rest } = values
  const asked = { activation_code: activationCode, confirmation_code: confirmationCode, ...rest }
  return { method: 'POST', path: '/esims', body: JSON.stringify(asked) }
}

/** An eSIM as the control API shows it. */
export interface ShownEsim {
  readonly phone: string
  readonly euicc: string
  readonly iccid_last4: string
  readonly provider: string
  readonly name: string
  readonly enabled: boolean
  readonly waiting_notifications: number
}

/** A table of them. */
export function printedEsims(esims: readonly ShownEsim[]): string {
  const widths = [12, 8, 7, 8, 16, 20]
  const row = (cells: readonly string[]): string =>
    `${cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()}\n`
  const rows = esims.map((one) => {
    const waiting = one.waiting_notifications
    const note = waiting === 0 ? '' : `${waiting} notifications wait for the SM-DP+`
    const state = one.enabled ? 'enabled' : 'disabled'
    return row([one.phone, state, `…${one.euicc}`, `…${one.iccid_last4}`, one.provider, one.name, note])
  })
  return row(['phone', 'profile', 'euicc', 'iccid', 'provider', 'name', '']) + rows.join('')
}
