import {
  bootstrapTokensRef,
  type Context,
  meshAuthorityRef,
  meshIdentityRef,
  nodeCertificatesRef,
  nodeIdentityRef,
  nodeRegistryRef,
} from '@steeple/contracts'
import { meshAgent } from '../agent/agent.ts'
import { askToJoin } from '../agent/join.ts'
import { meshClient } from '../agent/mesh-client.ts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'
import { enrollRoute } from './enroll-route.ts'
import { nodeCertificates } from './holders.ts'
import { inviteRoute } from './invite-route.ts'
import { joinRoute } from './join-route.ts'
import { openLearnt } from './learnt.ts'
import { leaveRoute } from './leave-route.ts'
import { lostRootRoutes } from './lost-root-routes.ts'
import { membersRoutes } from './members-routes.ts'
import { meshMembers } from './mesh-members.ts'
import { MIGRATIONS } from './migrations.ts'
import { announcedUrl } from './own-address.ts'
import type { EnrollParts } from './parts.ts'
import { createRefusals } from './refusals.ts'
import { renewRoutes } from './renew-routes.ts'
import { revocationList } from './revocation-list.ts'
import { GRACE_MS, openRoster } from './roster.ts'
import { CERTIFICATES, MEMBERS, NOTES } from './rows.ts'
import { forgetCertificates } from './store.ts'

const SWEEP_MS = 86_400_000
/** How often an instance looks for what another one on the same store has let in or put out. */
const FOLLOW_MS = 2_000

export const ENROLLMENT_TABLES: PartTables = {
  migrations: MIGRATIONS,
  tables: [MEMBERS, CERTIFICATES, NOTES],
}

/** Who belongs to the mesh: enrollment, certificates, revocation, heartbeats. */
export async function enrollment(
  context: Context<PeeringConfig>,
): Promise<{ readonly part: MeshPart; readonly members: Members }> {
  const parts = await partsOf(context)
  const client = meshClient(parts.identity)
  context.defer(() => client.close())
  const agent = meshAgent(parts, client)
  const part: MeshPart = {
    routes: [
      enrollRoute(parts, createRefusals(context, 'enroll')),
      ...renewRoutes(parts, createRefusals(context, 'renew')),
      leaveRoute(parts, agent.leave),
      ...membersRoutes(parts),
      inviteRoute(parts),
      ...lostRootRoutes(parts, client, agent.isRootAway),
      joinRoute(parts, (invitation, signal) => askToJoin(parts, client, invitation, signal)),
    ],
    services: new Map([[nodeCertificatesRef.id, nodeCertificates(parts)]]),
    start: async () => {
      agent.start()
      if (context.db.dialect !== 'sqlite') context.every(FOLLOW_MS, () => parts.roster.follow(), 'each')
      context.every(
        SWEEP_MS,
        async () => {
          const beforeMs = context.clock.nowMs() - GRACE_MS
          if (context.clock.doubt?.() === undefined)
            await context.db.write((tx) => forgetCertificates(tx, beforeMs))
        },
        'each',
      )
    },
    health: async () => [agent.health()],
  }
  return { part, members: meshMembers(parts, agent) }
}

async function partsOf(context: Context<PeeringConfig>): Promise<EnrollParts> {
  const { db, clock, config } = context
  const authority = context.use(meshAuthorityRef)
  const identity = context.use(meshIdentityRef)
  const node = context.use(nodeIdentityRef)
  const roster = await openRoster({ db, clock, subnet: config.subnet, own: node })
  return {
    context,
    authority,
    identity,
    node,
    tokens: context.use(bootstrapTokensRef),
    nodes: context.use(nodeRegistryRef),
    roster,
    revocations: revocationList({
      db,
      clock,
      authority,
      changes: roster.changes,
      url: () => announcedUrl(context),
    }),
    learnt: await openLearnt(db, identity),
  }
}
