import { request as httpRequest } from 'node:http'
import { authenticatorRef, systemPrincipal, tokenMintRef } from '@steeple/contracts'
import { cpuMs as ownCpuMs, type Testbed } from '@steeple/testkit'
import { tlsService } from '../harness/mesh/hub.ts'
import { addPerson, enter, goOn, type Person, totpAt } from '../harness/people.ts'
import {
  type Bench,
  bedOf,
  bench,
  cpuOf,
  type Finding,
  least,
  line,
  median,
  most,
  mostTimes,
  program,
  quantile,
  timed,
  times,
} from './bench.ts'
import type { HandshakeLoad, HandshakeResult } from './programs.ts'

const tokenCheck = bench({
  name: 'token-check',
  about: 'one check of a token: of each for the first time, and of one again and again',
  setup: (stage) => bedOf(stage, ['access']),
  act: async (bed) => {
    const mint = bed.service(tokenMintRef)
    const tokens = await times(3_000, async (n) => {
      const made = await mint?.mint(systemPrincipal('bench'), `bench ${n}`, ['viewer'])
      return made?.token ?? ''
    })
    const { first, again } = await checks(bed, tokens)
    return [
      most('token check, first use (median)', quantile(first, 0.5), 'ms', 0.1),
      most('token check, again (p99)', quantile(again, 0.99), 'ms', 0.1),
    ]
  },
})

/** Ms of a check of each, and of the first one over and over. */
async function checks(bed: Testbed, tokens: readonly string[]) {
  const authenticator = bed.service(authenticatorRef)
  if (authenticator === undefined) throw new Error('access is not there')
  const check = (token = ''): Promise<number> =>
    timed(async () => {
      if ((await authenticator.authenticate(token)) === undefined) throw new Error('a live token was refused')
    })
  const first = await times(tokens.length, (n) => check(tokens[n]))
  return { first, again: await times(100_000, () => check(tokens[0])) }
}

const people = bench({
  name: 'people',
  about: 'one check of a JWT, a refresh, and what a login costs the event loop',
  setup: (stage) => bedOf(stage, ['access']),
  act: async (bed) => {
    const person = await addPerson(bed, 'bench', ['viewer'])
    const codes = [totpAt(person.totp_uri, Date.now()), ...person.recovery_codes.slice(1, 8)]
    let entered = { token: '', cookie: '' }
    const logins = await times(codes.length, async (n) => {
      const before = ownCpuMs()
      entered = await enter(bed, person, codes[n])
      // Of the event loop: scrypt works beside it.
      return ownCpuMs() - before
    })
    const tokens: string[] = []
    const refreshes = await times(300, async () => {
      const ms = await timed(async () => {
        entered = await goOn(bed, entered)
      })
      tokens.push(entered.token)
      return ms
    })
    const { first, again } = await checks(bed, tokens)
    return [
      most('JWT check, first use (median)', quantile(first, 0.5), 'ms', 0.1),
      most('JWT check, again (p99)', quantile(again, 0.99), 'ms', 0.1),
      most('refresh over HTTP (median)', quantile(refreshes, 0.5), 'ms', 10),
      most('login with its client, processor time without scrypt (median)', quantile(logins, 0.5), 'ms', 25),
    ]
  },
})

/** One login from an address that nobody has had before, or from a given one; status and ms. */
type Login = (body: object, address?: string) => Promise<{ readonly status: number; readonly ms: number }>

const login = bench({
  name: 'login',
  about: 'whether a failed login tells by its time what was wrong, and what a flood of them does to others',
  // Five failures lock a name: each user fails four times, twice in each way.
  setup: async (stage) => {
    const bed = await bedOf(stage, ['access'])
    return { bed, users: await times(12, (n) => addPerson(bed, `bench-${n}`, ['viewer'])) }
  },
  act: async ({ bed, users }) => {
    const enterFrom = loginsTo(bed.url)
    return [...(await alike(enterFrom, users)), ...(await flooded(bed, enterFrom, users[0]))]
  },
})

/** Each failure comes from an address of its own: the loopback network has millions of them. */
function loginsTo(url: string): Login {
  let next = 0
  const fresh = (): string => {
    next += 1
    return `127.1.${next >> 8}.${next & 255}`
  }
  return (body, localAddress = fresh()) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      const startedAt = performance.now()
      const options = { method: 'POST', headers, localAddress, agent: false }
      const sent = httpRequest(new URL('/v1/auth/login', url), options, (answer) => {
        const end = () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - startedAt })
        answer.resume().on('end', end)
      })
      sent.on('error', reject)
      sent.end(text)
    })
}

const FAILURES = ['unknown name', 'wrong password', 'wrong code'] as const
/** Two samples are told apart by chance once in a thousand. Mann and Whitney 1947, normal approximation, two-sided. */
const TOLD_APART = 3.29

async function alike(enterFrom: Login, users: readonly Person[]): Promise<readonly Finding[]> {
  const took = Object.fromEntries(FAILURES.map((kind): [string, number[]] => [kind, []]))
  const bodyOf = ({ name, password, totp_uri }: Person, kind: (typeof FAILURES)[number]): object => {
    const code = totpAt(totp_uri, Date.now())
    if (kind === 'unknown name') return { username: `nobody-${Math.random()}`, password, code }
    if (kind === 'wrong password') return { username: name, password: `${password}x`, code }
    return { username: name, password, code: code === '000000' ? '000001' : '000000' }
  }
  // One after the other and in turns: what else the machine does hits all of them.
  for (const person of [...users, ...users])
    for (const kind of FAILURES) {
      const { status, ms } = await enterFrom(bodyOf(person, kind))
      if (status !== 401) throw new Error(`${kind} answered ${status}`)
      took[kind]?.push(ms)
    }
  const [reference = [], ...others] = FAILURES.map((kind) => took[kind] ?? [])
  return others.flatMap((other, at): readonly Finding[] => {
    const kind = FAILURES[at + 1]
    const z = Math.abs(rankDistance(other, reference))
    return [
      line(`failed login, ${kind} (median)`, quantile(other, 0.5), 'ms', z < TOLD_APART, {
        beside: ['unknown name', quantile(reference, 0.5)],
        target: 'not told apart',
      }),
      line(
        `${kind} told from an unknown name (Mann-Whitney |z| of ${reference.length})`,
        z,
        '',
        z < TOLD_APART,
        { target: `< ${TOLD_APART}` },
      ),
    ]
  })
}

/** How far the sum of ranks of `some` among both is from what chance lets expect, in standard deviations. */
function rankDistance(some: readonly number[], others: readonly number[]): number {
  let wins = 0
  for (const one of some) for (const other of others) wins += one > other ? 1 : one === other ? 0.5 : 0
  const [n, m] = [some.length, others.length]
  return (wins - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12)
}

async function flooded(bed: Testbed, enterFrom: Login, person?: Person): Promise<readonly Finding[]> {
  if (person === undefined) throw new Error('there is nobody')
  const atATime = 40
  const codes = [...person.recovery_codes]
  const enterNow = async (): Promise<number> => {
    const body = { username: person.name, password: person.password, code: codes.pop() ?? '' }
    const { status, ms } = await enterFrom(body, '127.0.0.1')
    if (status !== 200) throw new Error(`a real login answered ${status}`)
    return ms
  }
  const look = (): Promise<number> =>
    timed(async () => {
      const { status } = await bed.request('GET', '/v1/users')
      if (status !== 200) throw new Error(`GET /v1/users answered ${status}`)
    })
  // It is known from then on where this person logs in.
  const quietLogin = await enterNow()
  const quietLooks = await times(300, look)
  let isOver = false
  let failures = 0
  const fail = async (): Promise<void> => {
    for (; !isOver; failures += 1)
      await enterFrom({ username: `nobody-${Math.random()}`, password: 'x'.repeat(12), code: '000000' })
  }
  const flood = Array.from({ length: atATime }, fail)
  const looks = await times(300, look)
  const logins = await times(5, enterNow)
  isOver = true
  await Promise.all(flood)
  const tried = `${atATime} at a time, ${failures} in all`
  return [
    most(`another route amid failed logins, ${tried} (p99)`, quantile(looks, 0.99), 'ms', 100, {
      beside: ['without', quantile(quietLooks, 0.99)],
    }),
    most(
      'a login from where its person was before, amid failed ones (max)',
      Math.max(...logins),
      'ms',
      5_000,
      { beside: ['without', quietLogin] },
    ),
  ]
}

// The client is the node itself: its certificate is judged and asked about, then refused for want of a role.
const tls = bench({
  name: 'tls',
  about: "new mutual TLS connections with one request each, beside node's own server",
  setup: async (stage) => {
    const { child, port, key: read, ca } = await tlsService(stage)
    const [key, cert] = [read('node.key'), read('node.pem')]
    const bare = stage.use(await program<string>('bare-tls', { key, cert: cert + ca, ca }))
    const common = { cert, key, ca, connections: 8, seconds: 3 }
    const barePort = Number(new URL(bare.said).port)
    return {
      ours: { child, status: '403', wish: { ...common, port, path: '/v1/tokens' } },
      bare: { child: bare.child, status: '200', wish: { ...common, port: barePort, path: '/' } },
    }
  },
  act: async (servers) => {
    const once = async (who: keyof typeof servers) => {
      const { child, status, wish } = servers[who]
      const before = cpuOf({ child })
      using loader = await program<HandshakeResult>('handshakes', wish satisfies HandshakeLoad)
      const { failures, statuses, total, perSecond } = loader.said
      if (failures > 0 || statuses[status] !== total)
        throw new Error(`the load got ${JSON.stringify(loader.said)}`)
      return { perSecond, cpuMs: (cpuOf({ child }) - before) / total }
    }
    const rounds = await times(5, async () => ({ ours: await once('ours'), bare: await once('bare') }))
    const of = (who: 'ours' | 'bare', what: 'perSecond' | 'cpuMs') =>
      median(rounds.map((one) => one[who][what]))
    const share = 0.6
    const rate = of('bare', 'perSecond')
    const what = 'bare node server'
    return [
      least('mutual TLS handshakes, each with one request', of('ours', 'perSecond'), '/s', share * rate, {
        beside: [what, rate],
        target: `≥ ${share * 100} % of it`,
      }),
      mostTimes(
        'processor time of one of them',
        of('ours', 'cpuMs'),
        'ms',
        1 / share,
        [what, of('bare', 'cpuMs')],
        `≤ ${Math.round(100 / share)} % of it`,
      ),
    ]
  },
})

/** What credentials take: tokens, people's logins, certificates. */
export const LOGINS: readonly Bench[] = [tokenCheck, tls, people, login]
