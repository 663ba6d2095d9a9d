import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'

/** What `lab-core help` prints. */
export const USAGE: string = `lab-core: a core, a radio and phones for people without any
  serve [--dir data/lab-core] [--plmn 99999] [--tac 7] [--mme 127.0.0.2:9090] [--smf 127.0.0.4:9090]
        [--upf 127.0.0.7:9090] [--hss 127.0.0.8:9090] [--pcrf 127.0.0.9:9090] [--control 127.0.0.2:9091]
        [--enb 127.0.0.200:2152] [--sgwu 127.0.0.6:2152] [--capture FILE]
With one running (LAB_CORE_URL, or http://127.0.0.2:9091):
  insert < cards.json        put cards into phones (svc sim export BATCH --format json) and switch them on
    --wrong-keys             as if the cards had been written with other keys
  phones                     list them
  attach|detach|idle|service-request|power-on|power-off|remove PHONE
                             PHONE is the SIM's imsi_sha256_12, or all
  apn PHONE NAME             the phone asks for this APN (any: whatever the network gives)
  data PHONE --up N --down N move octets of IP packets through the tunnel, as fast as it goes
    --kbps R                 at so many kbit/s each way; the command does not wait for their end then
  traffic PHONE --up R --down R
                             so many kbit/s whenever it is attached, until 0 and 0
    --n3                     both: with the frames of a gNB in place of an eNB's
  esim LPA:1$…               a phone with an eUICC downloads this eSIM and attaches with what is in it; an eUICC
                             on both curves is made for it
    --confirmation-code C    when the code asks for one
    --curve P-256            or brainpoolP256r1: an eUICC that knows this curve alone
    --euicc LAST4            onto the eUICC whose EID ends so
    --server URL             where the SM-DP+ is, when not at http:// or https:// and its address
  esims                      list them
  esim-disable|esim-enable|esim-delete PHONE
                             as the owner of the phone does; the SM-DP+ is told
  radio up|down              the eNB comes and goes
`

const ACTIONS: readonly string[] = ['attach', 'detach', 'idle', 'service-request', 'power-on', 'power-off']

/** Runs one command against the control API; the exit code. */
export async function clientCommand(
  command: string,
  words: readonly string[],
  url = 'http://127.0.0.2:9091',
): Promise<number> {
  const call = command.startsWith('esim') ? esimCallOf(command, words) : await callOf(command, words)
  if (call === undefined) {
    process.stderr.write(USAGE)
    return 2
  }
  let response: Response
  try {
    const { method, path, body } = call
    response = await fetch(url + path, body === undefined ? { method } : { method, body })
  } catch {
    process.stderr.write(`lab-core: nothing answers at ${url}; npm start runs a lab core\n`)
    return 1
  }
  const body: unknown = await response.json()
  if (!response.ok) {
    process.stderr.write(`lab-core: ${errorIn(body)}\n`)
    return 1
  }
  process.stdout.write(printed(body))
  return 0
}

async function callOf(command: string, words: readonly string[]): Promise<Call | undefined> {
  const [name = ''] = words
  if (command === 'insert') {
    const path = words.includes('--wrong-keys') ? '/phones?wrong_keys=true' : '/phones'
    return { method: 'POST', path, body: await text(process.stdin) }
  }
  if (command === 'phones') return { method: 'GET', path: '/phones' }
  if (command === 'radio') return { method: 'POST', path: `/radio/${encodeURIComponent(name)}` }
  if (name === '') return undefined
  const phone = `/phones/${encodeURIComponent(name)}`
  if (command === 'remove') return { method: 'DELETE', path: phone }
  if (ACTIONS.includes(command)) return { method: 'POST', path: `${phone}/${command}` }
  if (command === 'apn') {
    const [, apn] = words
    if (apn === undefined) return undefined
    return { method: 'POST', path: `${phone}/apn`, body: JSON.stringify({ apn: apn === 'any' ? null : apn }) }
  }
  return command === 'data' || command === 'traffic' ? trafficCall(command, phone, words.slice(1)) : undefined
}

function trafficCall(command: 'data' | 'traffic', phone: string, words: readonly string[]): Call {
  const options = {
    up: { type: 'string', default: '0' },
    down: { type: 'string', default: '0' },
    kbps: { type: 'string' },
    n3: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ args: [...words], options })
  const [up, down] = [Number(values.up), Number(values.down)]
  const how = { interface: values.n3 ? 'n3' : 's1u' }
  const asked =
    command === 'traffic'
      ? { up_kbps: up, down_kbps: down, ...how }
      : {
          up_bytes: up,
          down_bytes: down,
          ...how,
          ...(values.kbps === undefined ? {} : { kbps: Number(values.kbps) }),
        }
  return { method: 'POST', path: `${phone}/${command}`, body: JSON.stringify(asked) }
}

interface Shown {
  readonly phone: string
  readonly state: string
  readonly problem: string | null
  readonly ipv4: string | null
  readonly up_bytes: number
  readonly down_bytes: number
}

function printed(body: unknown): string {
  const { phones, phone, esims } = body as {
    phones?: readonly Shown[]
    phone?: string
    esims?: readonly ShownEsim[]
  } // of our own server
  const held = esims === undefined ? '' : printedEsims(esims)
  if (phones === undefined && esims !== undefined) return held
  return held + printedPhones(body, phones, phone)
}

function printedPhones(
  body: unknown,
  phones: readonly Shown[] | undefined,
  phone: string | undefined,
): string {
  if (phones === undefined && phone === undefined) return `${JSON.stringify(body)}\n`
  const shown = phones ?? [body as Shown] // has a phone
  const rows = shown.map((one) =>
    row(WIDTHS, [
      one.phone,
      one.state,
      one.ipv4 ?? '',
      String(one.up_bytes),
      String(one.down_bytes),
      one.problem ?? '',
    ]),
  )
  return row(WIDTHS, ['phone', 'state', 'ipv4', 'up', 'down', '']) + rows.join('')
}

const WIDTHS: readonly number[] = [12, 9, 15, 12, 12]

function row(widths: readonly number[], cells: readonly string[]): string {
  const padded = cells.map((cell, i) => cell.padEnd(widths[i] ?? 0))
  return `${padded.join('  ').trimEnd()}\n`
}

function errorIn(body: unknown): string {
  return String((body as { error?: unknown }).error) // of our own server
}

/** A request to the control API. */
interface Call {
  readonly method: string
  readonly path: string
  readonly body?: string
}

/** The request of `esim`, `esims`, `esim-disable` and the like; undefined when the words are of no use. */
function esimCallOf(command: string, words: readonly string[]): Call | undefined {
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
interface ShownEsim {
  readonly phone: string
  readonly euicc: string
  readonly iccid_last4: string
  readonly provider: string
  readonly name: string
  readonly enabled: boolean
  readonly waiting_notifications: number
}

function printedEsims(esims: readonly ShownEsim[]): string {
  const widths = [12, 8, 7, 8, 16, 20]
  const rows = esims.map((one) => {
    const waiting = one.waiting_notifications
    const note = waiting === 0 ? '' : `${waiting} notifications wait for the SM-DP+`
    const state = one.enabled ? 'enabled' : 'disabled'
    return row(widths, [
      one.phone,
      state,
      `…${one.euicc}`,
      `…${one.iccid_last4}`,
      one.provider,
      one.name,
      note,
    ])
  })
  return row(widths, ['phone', 'profile', 'euicc', 'iccid', 'provider', 'name', '']) + rows.join('')
}
