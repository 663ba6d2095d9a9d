import type { Run } from '../wireguard/run.ts'

/** Priorities of the rules, and the number of the table. Nobody else's may be the same: they are taken away with ours. */
const NEAR_PRIORITY = 5150
const FAR_PRIORITY = 5151
const ROUTES = '5150'
const OWN: ReadonlySet<number> = new Set([NEAR_PRIORITY, FAR_PRIORITY])

/** How phones get to a peer's way out: rules of the kernel for packets from the pools. ip-rule(8). */
export interface PeerRouting {
  /** Only packets from these networks go into `device` by default, each other destination of this box stays nearer. */
  keep(pools: readonly string[], device: string | undefined, signal: AbortSignal): Promise<boolean>
}

/** One line of `ip -j rule list`; `table` is a number or a name. */
interface ListedRule {
  readonly priority: number
  readonly src: string
  readonly srclen?: number
  readonly table?: string
  readonly suppress_prefixlen?: number
}

/** The rules in the kernel. Those that are right are not touched. */
export function peerRouting(run: Run): PeerRouting {
  return {
    keep: async (pools, device, signal) => {
      const ip = (args: readonly string[]): Promise<string> => run('ip', ['-4', ...args], { signal })
      const rules = JSON.parse(await ip(['-j', 'rule', 'list'])) as readonly ListedRule[]
      const found = rules.filter(({ priority }) => OWN.has(priority)).map(textOf)
      const wanted = device === undefined ? [] : pools.flatMap(rulesFor)
      const route = wanted.length === 0 ? undefined : device
      const steps = [
        // The route first: a rule that leads to an empty table leads to the box's own default route.
        ...routeSteps(await deviceOf(ip), route),
        ...wanted.filter((rule) => !found.includes(rule)).map((rule) => ['rule', 'add', ...rule.split(' ')]),
        ...found.filter((rule) => !wanted.includes(rule)).map((rule) => ['rule', 'del', ...rule.split(' ')]),
      ]
      for (const step of steps) await ip(step)
      return steps.length > 0
    },
  }
}

function routeSteps(found: string | undefined, wanted: string | undefined): readonly (readonly string[])[] {
  if (found === wanted) return []
  if (wanted === undefined) return [['route', 'flush', 'table', ROUTES]]
  return [['route', 'replace', 'default', 'dev', wanted, 'table', ROUTES]]
}

/** First what this box knows a way to beside its own default route, then the mesh. */
function rulesFor(pool: string): readonly string[] {
  return [
    `priority ${NEAR_PRIORITY} from ${pool} table main suppress_prefixlength 0`,
    `priority ${FAR_PRIORITY} from ${pool} table ${ROUTES}`,
  ]
}

function textOf({ priority, src, srclen, table = '', suppress_prefixlen: suppressed }: ListedRule): string {
  const from = src === 'all' ? '0.0.0.0/0' : `${src}/${srclen ?? 32}`
  const suppress = suppressed === undefined ? '' : ` suppress_prefixlength ${suppressed}`
  return `priority ${priority} from ${from} table ${table}${suppress}`
}

/** Undefined where the table has no default route, or was never used: ip calls that an error. */
async function deviceOf(ip: (args: readonly string[]) => Promise<string>): Promise<string | undefined> {
  const text = await ip(['-j', 'route', 'show', 'default', 'table', ROUTES]).catch(() => '[]')
  const [route] = JSON.parse(text) as readonly { readonly dev?: string }[]
  return route?.dev
}
