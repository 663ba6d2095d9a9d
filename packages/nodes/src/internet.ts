import { promises as dns, getServers } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ComponentHealth,
  type Context,
  type KernelRoute,
  kernelRoutes,
  timestampFromMs,
} from '@steeple/contracts'

/** How often the internet is looked for, ms. Three lost questions in a row fit between two looks at the health. */
export const INTERNET_MS = 4_000
/** An answer by satellite takes 0.7 s. */
const ANSWER_MS = 1_500
/** One packet that is lost is no outage, and neither are two: asked one after the other, without waiting for the one before. */
const TRIES = 3
const BETWEEN_MS = 1_000
/** Looks in a row that find it until it counts as back: a line that flaps is one outage. */
const BACK_LOOKS = 2
/** What `internet.probe` calls the DNS servers of this machine. */
const RESOLVERS = 'resolvers'
/** The servers behind the one of systemd on this machine, which answers from its memory. */
const BEHIND_STUB = '/run/systemd/resolve/resolv.conf'
const STUB = '127.0.0.53'

/** Whether phones get out, as of the last look. */
export interface InternetWatch {
  look(signal: AbortSignal): Promise<void>
  health(): ComponentHealth
  /** Whether phones get out: somebody answered, or there is a route and nobody was to be asked. Undefined before, and where there never was one. */
  isThere(): boolean | undefined
}

/** What the watch asks; tests have their own. */
export interface InternetParts {
  /** `internet.probe`: whoever of these answers is the proof. */
  targets(): readonly string[]
  nowMs(): number
  /** Told when the judgement is another. */
  changed(): void
  hasRoute(): Promise<boolean>
  /** Resolves when the target has answered; `resolvers` are those of this machine. */
  ask(target: string, signal: AbortSignal): Promise<void>
  /** Between one try and the next. */
  pause(signal: AbortSignal): Promise<void>
}

/** The watch of this machine. */
export function ownInternet(context: Context): InternetWatch {
  return internetWatch({
    targets: () => context.settings.internet.probe,
    nowMs: () => context.clock.nowMs(),
    changed: () => context.healthChanged(),
    hasRoute: async () => hasDefaultRoute(await kernelRoutes()),
    ask: askInternet,
    pause: async (signal) => void (await delay(BETWEEN_MS, undefined, { signal, ref: false })),
  })
}

type Judgement = Pick<ComponentHealth, 'status' | 'detail'> & { readonly isProven?: true }

/**
 * Misses the internet where there was some since the start: a box may well be without. An address that somebody has named is missed
 * without that.
 */
export function internetWatch(parts: InternetParts): InternetWatch {
  let routeMs: number | undefined
  let answerMs: number | undefined
  let goodLooks = 0
  let last: Judgement = { status: 'ok', detail: 'not looked for yet' }
  const answered = (targets: readonly string[]): Judgement => {
    answerMs = parts.nowMs()
    goodLooks += 1
    const isBack = last.status === 'ok' || goodLooks >= BACK_LOOKS
    return isBack ? { status: 'ok', detail: `${namesOf(targets)} answered`, isProven: true } : last
  }
  const unanswered = (targets: readonly string[]): Judgement => {
    goodLooks = 0
    const isMissed = answerMs !== undefined || targets.some((target) => target !== RESOLVERS)
    const since = answerMs === undefined ? 'the start' : timestampFromMs(answerMs)
    const detail = `there is a default route, but no answer from ${namesOf(targets)} since ${since}`
    return { status: isMissed ? 'down' : 'ok', detail }
  }
  const unrouted = (): Judgement => {
    goodLooks = 0
    return routeMs === undefined
      ? { status: 'ok', detail: 'no default route was there since the start' }
      : { status: 'down', detail: `no default route; there was one until ${timestampFromMs(routeMs)}` }
  }
  const judge = async (signal: AbortSignal): Promise<Judgement> => {
    if (!(await parts.hasRoute())) return unrouted()
    routeMs = parts.nowMs()
    const targets = parts.targets()
    if (targets.length === 0) return { status: 'ok', detail: 'there is a default route', isProven: true }
    return (await isAnswered(parts, targets, signal)) ? answered(targets) : unanswered(targets)
  }
  return {
    look: async (signal) => {
      const { status } = last
      last = await judge(signal)
      if (last.status !== status) parts.changed()
    },
    health: () => {
      const { status, detail } = last
      return { name: 'internet', kind: 'feature', incident: 'no_internet', status, detail }
    },
    isThere: () => (last.status === 'ok' ? last.isProven : false),
  }
}

function namesOf(targets: readonly string[]): string {
  return targets.map((target) => (target === RESOLVERS ? 'the DNS servers' : target)).join(' or ')
}

async function isAnswered(
  { ask, pause }: InternetParts,
  targets: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController()
  const untilOver = AbortSignal.any([signal, over.signal])
  const tried = async (nth: number): Promise<void> => {
    for (let pauses = 0; pauses < nth; pauses += 1) await pause(untilOver)
    await Promise.any(targets.map((target) => ask(target, untilOver)))
  }
  try {
    await Promise.any(Array.from({ length: TRIES }, (_, nth) => tried(nth)))
    return true
  } catch {
    signal.throwIfAborted()
    return false
  } finally {
    over.abort()
  }
}

/**
 * A connection to `address:port` that somebody takes, or an answer of a DNS server about the root. The question is the same everywhere, and
 * says nothing of this box; servers that ask others for it do not answer without them.
 */
export async function askInternet(target: string, signal: AbortSignal): Promise<void> {
  if (target === RESOLVERS) {
    await Promise.any((await resolvers()).map(askRoot))
    return
  }
  const [, host = '', port] = /^\[?([^\]]+)\]?:(\d+)$/.exec(target) ?? []
  const socket = connect({ host, port: Number(port), signal, timeout: ANSWER_MS })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('timeout', () => reject(new Error(`${target} does not answer`)))
      socket.once('error', reject)
    })
  } finally {
    socket.destroy()
  }
}

/** Asks one DNS server, `address` or `address:port`, who keeps the root of the names. */
export async function askRoot(server: string): Promise<void> {
  const resolver = new dns.Resolver({ timeout: ANSWER_MS, tries: 1 })
  resolver.setServers([server])
  await resolver.resolveSoa('.')
}

async function resolvers(): Promise<readonly string[]> {
  const known = getServers()
  if (!known.includes(STUB)) return known
  const text = await readFile(BEHIND_STUB, 'utf8').catch(() => '')
  const behind = [...text.matchAll(/^nameserver\s+([\da-fA-F.:]+)/gm)].map(([, address = '']) => address)
  return behind.length === 0 ? known : behind
}

/** Whether one of the routes leads everywhere, by IPv4 or IPv6. */
export function hasDefaultRoute(routes: readonly KernelRoute[]): boolean {
  return routes.some(({ network, device }) => network.prefix === 0 && device !== 'lo')
}
