import { type OtherBox, type Outcome, type Reconciler, type Tx, timestampFromMs } from '@steeple/contracts'
import { ALL, boxesOf, type Parts, PLAN } from '../context.ts'
import { type BoxReport, digestOf, documentText, reportIn } from '../document.ts'
import { stagedStates } from '../software/rollout.ts'
import { canonical, merged, personKey, type State, type Values } from '../state.ts'
import {
  DOCUMENTS,
  type DocumentRow,
  type GroupRow,
  groupsInOrder,
  INVITED,
  type InvitedRow,
  REPORTS,
  ROLLOUTS,
} from '../store.ts'

/** How often it is looked whether a stage has been well for long enough. */
const ROLLOUT_MS = 30_000

/** Whom a group is for. */
export interface Members {
  readonly all: boolean
  /** Node ids. */
  readonly nodes: readonly string[]
}

export function membersOf({ members }: GroupRow): Members {
  // Written by the route, from its schema.
  return JSON.parse(members) as Members
}

export function stateOf({ state }: GroupRow): State {
  // As above.
  return JSON.parse(state) as State
}

/** What one box is to have, of groups in their order and of who is invited to them. */
export function contentFor(
  node: string,
  groups: readonly GroupRow[],
  invited: readonly Invited[],
): { readonly groups: readonly string[]; readonly state: State } {
  const own = groups.filter((group) => isIn(membersOf(group), node))
  // A merge of states has the parts of states.
  const { licenses, ...state } = own.reduce<Values>(
    (sum, group) => merged(sum, stateOf(group) as Values),
    {},
  ) as State
  // Each box gets its own alone.
  const license = licenses?.[node]
  const names = own.map(({ name }) => name)
  const invitations = invitationsOf(node, names, invited)
  return {
    groups: names,
    state: {
      ...state,
      ...(license === undefined ? {} : { licenses: { [node]: license } }),
      ...(Object.keys(invitations).length === 0 ? {} : { invitations }),
    },
  }
}

/** A row of the table, read once for all boxes. */
type Invited = Pick<InvitedRow, 'group_name' | 'name'> & {
  readonly tokens: Readonly<Record<string, string>>
  /** Without the token; null: withdrawn. */
  readonly values: Values | null
}

function invitedOf(row: InvitedRow): Invited {
  const { group_name, name, withdrawn_at_ms, expires_at_ms } = row
  // Written by the route, from its schema.
  const roles: unknown = JSON.parse(row.roles)
  const values = withdrawn_at_ms > 0 ? null : { roles, expires_at: timestampFromMs(expires_at_ms) }
  return { group_name, name, tokens: tokensOf(row), values }
}

/** Of groups in their order the last one that invites a person has the last word. Who is out of a group is invited by it no more. */
function invitationsOf(node: string, names: readonly string[], invited: readonly Invited[]): Values {
  const found = invited.flatMap(({ group_name, name, tokens, values }) => {
    const token = tokens[node]
    if (token === undefined) return []
    const at = values === null ? -1 : names.indexOf(group_name)
    return [{ at, name, value: at < 0 ? null : { ...values, tokens: { [node]: token } } }]
  })
  const last = new Map<string, readonly [string, Values | null]>()
  for (const { name, value } of found.toSorted((a, b) => a.at - b.at))
    last.set(personKey(name), [name, value])
  return Object.fromEntries(last.values())
}

/** SHA-256 of tokens, by node id. */
export function tokensOf({ tokens }: Pick<InvitedRow, 'tokens'>): Readonly<Record<string, string>> {
  // As above.
  return JSON.parse(tokens) as Readonly<Record<string, string>>
}

export function isIn({ all, nodes }: Members, node: string): boolean {
  return all || nodes.includes(node)
}

/** A box that knows a later version than this hub, or another document of the same: the hub has forgotten. */
export function knowsMore({ version, document }: DocumentRow, report: BoxReport | undefined): boolean {
  if (report === undefined || report.version < version) return false
  return report.version > version || report.digest !== digestOf(document)
}

/** Makes a new document of each box whose groups say something else now, or that knows more than this hub. */
export async function issue(
  { context, node: hub }: Pick<Parts, 'context' | 'node'>,
  tx: Tx,
  boxes: readonly OtherBox[],
): Promise<void> {
  const groups = await groupsInOrder(tx)
  const documents = new Map((await DOCUMENTS.select(tx, '')).map((row) => [row.node_id, row]))
  const reports = new Map((await REPORTS.select(tx, '')).map((row) => [row.node_id, row]))
  const nowMs = context.clock.nowMs()
  const invited = await INVITED.select(tx, 'order by group_name, name')
  for (const { group_name, name, expires_at_ms } of invited)
    if (expires_at_ms <= nowMs) await INVITED.remove(tx, { group_name, name })
  const open = invited.filter(({ expires_at_ms }) => expires_at_ms > nowMs).map(invitedOf)
  const issued_at = timestampFromMs(nowMs)
  const planned = boxes.map(({ nodeId: node }) => ({
    ...{ node, ...contentFor(node, groups, open) },
    ...{ before: documents.get(node), told: reports.get(node) },
  }))
  const states = await stagedStates(tx, nowMs, planned)
  for (const { node, before, told, ...own } of planned) {
    const made = { groups: own.groups, state: states.get(node) ?? own.state }
    const content = canonical(made)
    // One of no group that never had any has no document.
    if (before === undefined && made.groups.length === 0) continue
    const report = reportIn(told?.report)
    if (before?.content === content && !knowsMore(before, report)) continue
    const version = Math.max(before?.version ?? 0, report?.version ?? 0) + 1
    const document = documentText({ hub: hub.nodeId, node, version, issued_at, ...made })
    await DOCUMENTS.put(tx, { node_id: node, version, content, document })
  }
}

/** Looks whether boxes have come, or tell of more than this hub knows. */
export function planReconciler(parts: Parts): Reconciler {
  const { context } = parts
  return {
    resource: PLAN,
    resyncMs: 600_000,
    keys: async () => [ALL],
    reconcile: async (): Promise<Outcome> => {
      const boxes = await boxesOf(parts)
      await context.db.write((tx) => issue(parts, tx, boxes))
      const isGoing = (await ROLLOUTS.select(context.db, '')).some(
        ({ stage }) => stage === 'one' || stage === 'tenth',
      )
      return isGoing
        ? { state: 'pending', afterMs: ROLLOUT_MS, reason: 'a build is let out in stages' }
        : { state: 'converged' }
    },
  }
}
