import {
  defineTable,
  type Migration,
  type Reader,
  type Table,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'
import type { PartStatus } from './document.ts'
import type { Stage } from './software/rollout.ts'

/** A group, at the hub. `members` and `state` are JSON. */
export interface GroupRow {
  readonly name: string
  readonly rank: number
  readonly members: string
  readonly state: string
  readonly updated_at_ms: number
  readonly updated_by: string
}
/** A person who is invited to the boxes of a group, at the hub. `roles` and `tokens` (hashes by node id) are JSON. */
export interface InvitedRow {
  readonly group_name: string
  readonly name: string
  readonly roles: string
  readonly tokens: string
  readonly expires_at_ms: number
  /** 0: not. */
  readonly withdrawn_at_ms: number
}
/** The newest document of a box, at the hub. `content`: what of it makes another version where it is another. */
export interface DocumentRow {
  readonly node_id: string
  readonly version: number
  readonly content: string
  readonly document: string
}
/** What a box has told last, at the hub; JSON. */
export interface ReportRow {
  readonly node_id: string
  readonly at_ms: number
  readonly report: string
}
/** Which parts a hub may set here; JSON. Of one hub: the one of this node and this CA. */
export interface PermitRow {
  readonly id: number
  readonly hub_id: string
  readonly ca_sha256: string
  readonly parts: string
  readonly at_ms: number
}
/** The newest document that this box has taken, of that hub. */
export interface DesiredRow {
  readonly id: number
  readonly hub_id: string
  readonly ca_sha256: string
  readonly version: number
  readonly document: string
  readonly taken_at_ms: number
}
/** What became of a part at a version; `problems` is JSON. */
export interface PartRow {
  readonly part: string
  readonly version: number
  readonly status: PartStatus
  readonly problems: string
}

/** The build that this box is to run, and how far that is. `terms` and `went_back` (ids of builds) are JSON. */
export interface SoftwareRow {
  readonly id: number
  readonly build: string
  readonly terms: string
  readonly status: string
  readonly problem: string | null
  readonly at_ms: number
  readonly went_back: string
}

/** How far a build is let out, at the hub. `given` (node ids) is JSON. */
export interface RolloutRow {
  readonly build: string
  readonly stage: Stage
  readonly given: string
  readonly well_since_ms: number | null
  readonly stopped_by: string | null
}

export const GROUPS: Table<GroupRow> = defineTable<GroupRow>(
  'groups_group',
  ['name', 'rank', 'members', 'state', 'updated_at_ms', 'updated_by'],
  ['name'],
)
export const INVITED: Table<InvitedRow> = defineTable<InvitedRow>(
  'groups_invited',
  ['group_name', 'name', 'roles', 'tokens', 'expires_at_ms', 'withdrawn_at_ms'],
  ['group_name', 'name'],
)
export const DOCUMENTS: Table<DocumentRow> = defineTable<DocumentRow>(
  'groups_document',
  ['node_id', 'version', 'content', 'document'],
  ['node_id'],
)
export const REPORTS: Table<ReportRow> = defineTable<ReportRow>(
  'groups_report',
  ['node_id', 'at_ms', 'report'],
  ['node_id'],
)
export const PERMITS: Table<PermitRow> = defineTable<PermitRow>(
  'groups_permit',
  ['id', 'hub_id', 'ca_sha256', 'parts', 'at_ms'],
  ['id'],
)
export const DESIRED: Table<DesiredRow> = defineTable<DesiredRow>(
  'groups_desired',
  ['id', 'hub_id', 'ca_sha256', 'version', 'document', 'taken_at_ms'],
  ['id'],
)
export const PART_ROWS: Table<PartRow> = defineTable<PartRow>(
  'groups_part',
  ['part', 'version', 'status', 'problems'],
  ['part'],
)
export const SOFTWARE: Table<SoftwareRow> = defineTable<SoftwareRow>(
  'groups_software',
  ['id', 'build', 'terms', 'status', 'problem', 'at_ms', 'went_back'],
  ['id'],
)
export const ROLLOUTS: Table<RolloutRow> = defineTable<RolloutRow>(
  'groups_rollout',
  ['build', 'stage', 'given', 'well_since_ms', 'stopped_by'],
  ['build'],
)
export const TABLES: readonly TableSpec[] = [
  ...[GROUPS, DOCUMENTS, REPORTS, PERMITS, DESIRED, PART_ROWS],
  ...[SOFTWARE, ROLLOUTS, INVITED],
]

/** The schema: what a hub keeps (group, invited, document, report, rollout) and what a box keeps (permit, desired, part, software). */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_groups',
    up: [
      `create table groups_group (
        name text primary key,
        rank integer not null,
        members text not null,
        state text not null,
        updated_at_ms bigint not null,
        updated_by text not null,
        row_sum bigint not null
      )`,
      `create table groups_document (
        node_id text primary key,
        version bigint not null,
        content text not null,
        document text not null,
        row_sum bigint not null
      )`,
      `create table groups_report (
        node_id text primary key,
        at_ms bigint not null,
        report text not null,
        row_sum bigint not null
      )`,
      `create table groups_permit (
        id integer primary key,
        hub_id text not null,
        ca_sha256 text not null,
        parts text not null,
        at_ms bigint not null,
        row_sum bigint not null
      )`,
      `create table groups_desired (
        id integer primary key,
        hub_id text not null,
        ca_sha256 text not null,
        version bigint not null,
        document text not null,
        taken_at_ms bigint not null,
        row_sum bigint not null
      )`,
      `create table groups_part (
        part text primary key,
        version bigint not null,
        status text not null,
        problems text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0002_software',
    up: [
      `create table groups_software (
        id integer primary key,
        build text not null,
        terms text not null,
        status text not null,
        problem text,
        at_ms bigint not null,
        went_back text not null,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0003_rollouts',
    up: [
      `create table groups_rollout (
        build text primary key,
        stage text not null,
        given text not null,
        well_since_ms bigint,
        stopped_by text,
        row_sum bigint not null
      )`,
    ],
  },
  {
    id: '0004_invited',
    up: [
      `create table groups_invited (
        group_name text not null,
        name text not null,
        roles text not null,
        tokens text not null,
        expires_at_ms bigint not null,
        withdrawn_at_ms bigint not null,
        row_sum bigint not null,
        primary key (group_name, name)
      )`,
    ],
  },
]

/** The one row of `groups_permit`, `groups_desired` and `groups_software`. */
export const ONLY = 1

/** Groups in the order in which they are merged. */
export function groupsInOrder(reader: Reader): Promise<readonly GroupRow[]> {
  return GROUPS.select(reader, 'order by rank, name')
}

/** Who is invited to the boxes of a group, also those who are not any more. */
export function invitedTo(reader: Reader, group_name: string): Promise<readonly InvitedRow[]> {
  return INVITED.select(reader, 'where group_name = :group_name order by name', { group_name })
}

/** After a restore: those that are known to the store before stay as they are there, any other one may have been withdrawn since. */
export async function endInvited(tx: Tx, nowMs: number, before: Reader | undefined): Promise<void> {
  for (const row of await INVITED.select(tx, 'where withdrawn_at_ms = 0'))
    await INVITED.put(tx, { ...row, withdrawn_at_ms: nowMs })
  const { rows } = before === undefined ? { rows: [] } : await INVITED.sound(before, '')
  for (const row of rows) await INVITED.put(tx, row)
}

/** The version of a box's document, without the document. */
export async function versionFor(reader: Reader, node: string): Promise<number | undefined> {
  const row = await reader.get<{ readonly version: number }>(
    'select version from groups_document where node_id = :node',
    { node },
  )
  return row === undefined ? undefined : Number(row.version)
}
