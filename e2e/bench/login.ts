import { request as httpRequest } from 'node:http'
import { loadTestbed, type Testbed } from '@steeple/testkit'
import type { Person } from '../harness/people.ts'
import { totpAt } from '../harness/totp.ts'
import { type Finding, quantile } from './measure.ts'
import { packageFolder } from './package-folder.ts'

/** Five failures lock a name: each user fails four times, twice in each way. */
const USERS = 12
const TWICE = 2
/** Two samples are told apart by chance once in a thousand. Mann and Whitney 1947, normal approximation, two-sided. */
const TOLD_APART = 3.29
const FLOOD = 40
const FLOOD_LOOKS = 300
const FLOOD_LOGINS = 5
const LOOK_LIMIT_MS = 100
const LOGIN_LIMIT_MS = 5_000

type Kind = 'unknown name' | 'wrong password' | 'wrong code'

/** Whether a failed login tells by its time what was wrong with it, and what a flood of them does to everybody else. */
export async function benchLogin(): Promise<readonly Finding[]> {
  const { startTestbed } = await loadTestbed()
  const testbed = await startTestbed({ plugins: [{ dir: packageFolder('access') }] })
  try {
    const door = doorOf(testbed.url)
    const people: Person[] = []
    for (let n = 0; n < USERS; n++) people.push(await add(testbed, `bench-${n}`))
    return [...(await alike(door, people)), ...(await flooded(testbed, door, people[0]))]
  } finally {
    await testbed.stop()
  }
}

interface Door {
  /** One login from an address that nobody has had before, or from a given one; status and ms. */
  login(body: object, address?: string): Promise<{ readonly status: number; readonly ms: number }>
}

/** Each failure comes from an address of its own: the loopback network has millions of them. */
function doorOf(url: string): Door {
  let next = 0
  const fresh = (): string => {
    next += 1
    return `127.1.${next >> 8}.${next & 255}`
  }
  return {
    login: (body, localAddress = fresh()) =>
      new Promise((resolve, reject) => {
        const text = JSON.stringify(body)
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
        const startedAt = performance.now()
        const options = { method: 'POST', headers, localAddress, agent: false }
        const sent = httpRequest(new URL('/v1/auth/login', url), options, (answer) => {
          answer.resume()
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, ms: performance.now() - startedAt }),
          )
        })
        sent.on('error', reject)
        sent.end(text)
      }),
  }
}

async function alike(door: Door, people: readonly Person[]): Promise<readonly Finding[]> {
  const times: Record<Kind, number[]> = { 'unknown name': [], 'wrong password': [], 'wrong code': [] }
  const bodyOf = ({ name, password, totp_uri }: Person, kind: Kind): object => {
    const code = totpAt(totp_uri, Date.now())
    if (kind === 'unknown name') return { username: `nobody-${Math.random()}`, password, code }
    if (kind === 'wrong password') return { username: name, password: `${password}x`, code }
    return { username: name, password, code: code === '000000' ? '000001' : '000000' }
  }
  // One after the other and in turns: what else the machine does hits all of them.
  for (let turn = 0; turn < TWICE; turn++)
    for (const person of people)
      for (const kind of ['unknown name', 'wrong password', 'wrong code'] as const) {
        const { status, ms } = await door.login(bodyOf(person, kind))
        if (status !== 401) throw new Error(`${kind} answered ${status}`)
        times[kind].push(ms)
      }
  const reference = times['unknown name']
  const beside = { value: quantile(reference, 0.5), what: 'unknown name' }
  return (['wrong password', 'wrong code'] as const).flatMap((kind): readonly Finding[] => {
    const z = Math.abs(standing(times[kind], reference))
    const isMet = z < TOLD_APART
    return [
      {
        name: `failed login, ${kind} (median)`,
        value: quantile(times[kind], 0.5),
        unit: 'ms',
        beside,
        target: 'not told apart',
        isMet,
      },
      {
        name: `${kind} told from an unknown name (Mann-Whitney |z| of ${reference.length})`,
        value: z,
        unit: '',
        target: `< ${TOLD_APART}`,
        isMet,
      },
    ]
  })
}

/** How far the sum of ranks of `some` among both is from what chance lets expect, in standard deviations. */
function standing(some: readonly number[], others: readonly number[]): number {
  let wins = 0
  for (const one of some) for (const other of others) wins += one > other ? 1 : one === other ? 0.5 : 0
  const [n, m] = [some.length, others.length]
  return (wins - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12)
}

async function flooded(
  testbed: Testbed,
  door: Door,
  person: Person | undefined,
): Promise<readonly Finding[]> {
  if (person === undefined) throw new Error('there is nobody')
  const codes = [...person.recovery_codes]
  const enter = async (): Promise<number> => {
    const body = { username: person.name, password: person.password, code: codes.pop() ?? '' }
    const { status, ms } = await door.login(body, '127.0.0.1')
    if (status !== 200) throw new Error(`a real login answered ${status}`)
    return ms
  }
  const look = async (): Promise<number> => {
    const startedAt = performance.now()
    const { status } = await testbed.request('GET', '/v1/users')
    if (status !== 200) throw new Error(`GET /v1/users answered ${status}`)
    return performance.now() - startedAt
  }
  const many = async (count: number, work: () => Promise<number>): Promise<readonly number[]> => {
    const times: number[] = []
    for (let n = 0; n < count; n++) times.push(await work())
    return times
  }
  // It is known from then on where this person logs in.
  const idle = { login: await enter(), looks: await many(FLOOD_LOOKS, look) }
  let isOver = false
  let failures = 0
  const fail = async (): Promise<void> => {
    while (!isOver) {
      await door.login({ username: `nobody-${Math.random()}`, password: 'x'.repeat(12), code: '000000' })
      failures += 1
    }
  }
  const flood = Array.from({ length: FLOOD }, fail)
  const looks = await many(FLOOD_LOOKS, look)
  const logins = await many(FLOOD_LOGINS, enter)
  isOver = true
  await Promise.all(flood)
  const tried = `${FLOOD} at a time, ${failures} in all`
  return [
    {
      name: `another route amid failed logins, ${tried} (p99)`,
      value: quantile(looks, 0.99),
      unit: 'ms',
      beside: { value: quantile(idle.looks, 0.99), what: 'without' },
      target: `≤ ${LOOK_LIMIT_MS} ms`,
      isMet: quantile(looks, 0.99) <= LOOK_LIMIT_MS,
    },
    {
      name: 'a login from where its person was before, amid failed ones (max)',
      value: Math.max(...logins),
      unit: 'ms',
      beside: { value: idle.login, what: 'without' },
      target: `≤ ${LOGIN_LIMIT_MS} ms`,
      isMet: Math.max(...logins) <= LOGIN_LIMIT_MS,
    },
  ]
}

async function add(testbed: Testbed, name: string): Promise<Person> {
  const { status, body } = await testbed.request('POST', '/v1/users', { body: { name, roles: ['viewer'] } })
  if (status !== 201) throw new Error(`POST /v1/users answered ${status}`)
  // The edge checks every answer against its route's schema in a testbed.
  return body as Person
}
