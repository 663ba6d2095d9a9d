import { authenticatorRef } from '@steeple/contracts'
import { cpuMs, loadTestbed, type Testbed } from '@steeple/testkit'
import type { Person } from '../harness/people.ts'
import { totpAt } from '../harness/totp.ts'
import { type Finding, quantile } from './measure.ts'
import { packageFolder } from './package-folder.ts'

const CHECK_LIMIT_MS = 0.1
const LOGINS = 8
const REFRESHES = 300

/** Time of one check of a JWT and of a refresh, and what a login costs the event loop. */
export async function benchPeople(): Promise<readonly Finding[]> {
  const { startTestbed } = await loadTestbed()
  const testbed = await startTestbed({ plugins: [{ dir: packageFolder('access') }] })
  try {
    const person = await add(testbed)
    const logins: number[] = []
    let entered = { token: '', cookie: '' }
    for (const code of [totpAt(person.totp_uri, Date.now()), ...person.recovery_codes.slice(1, LOGINS)]) {
      const startedMs = cpuMs()
      entered = await enter(testbed, person, code)
      // Of the event loop: scrypt works beside it.
      logins.push(cpuMs() - startedMs)
    }
    const tokens: string[] = []
    const refreshes: number[] = []
    for (let n = 0; n < REFRESHES; n++) {
      const startedAt = performance.now()
      entered = await goOn(testbed, entered.cookie)
      refreshes.push(performance.now() - startedAt)
      tokens.push(entered.token)
    }
    const { first, again } = await checks(testbed, tokens)
    return [
      atMost('JWT check, first use (median)', quantile(first, 0.5), CHECK_LIMIT_MS),
      atMost('JWT check, again (p99)', quantile(again, 0.99), CHECK_LIMIT_MS),
      atMost('refresh over HTTP (median)', quantile(refreshes, 0.5), 10),
      atMost('login with its client, processor time without scrypt (median)', quantile(logins, 0.5), 25),
    ]
  } finally {
    await testbed.stop()
  }
}

function atMost(name: string, value: number, limitMs: number): Finding {
  return { name, value, unit: 'ms', target: `≤ ${limitMs} ms`, isMet: value <= limitMs }
}

async function add(testbed: Testbed): Promise<Person> {
  const { status, body } = await testbed.request('POST', '/v1/users', {
    body: { name: 'bench', roles: ['viewer'] },
  })
  if (status !== 201) throw new Error(`POST /v1/users answered ${status}`)
  return body as Person
}

async function enter(testbed: Testbed, { name, password }: Person, code: string) {
  return entered(
    await testbed.request('POST', '/v1/auth/login', {
      token: false,
      body: { username: name, password, code },
    }),
  )
}

async function goOn(testbed: Testbed, cookie: string) {
  return entered(await testbed.request('POST', '/v1/auth/refresh', { token: false, headers: { cookie } }))
}

function entered({ status, headers, body }: Awaited<ReturnType<Testbed['request']>>) {
  if (status !== 200) throw new Error(`a login answered ${status}`)
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';', 1)
  return { cookie, token: (body as { readonly token: string }).token }
}

async function checks(testbed: Testbed, tokens: readonly string[]) {
  const authenticator = testbed.service(authenticatorRef)
  if (authenticator === undefined) throw new Error('access is not there')
  const check = async (token: string): Promise<number> => {
    const startedAt = performance.now()
    if ((await authenticator.authenticate(token)) === undefined) throw new Error('a live JWT was refused')
    return performance.now() - startedAt
  }
  const first: number[] = []
  for (const token of tokens) first.push(await check(token))
  const again: number[] = []
  for (let n = 0; n < 100_000; n++) again.push(await check(tokens[0] ?? ''))
  return { first, again }
}
