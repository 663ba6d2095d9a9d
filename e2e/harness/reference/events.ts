import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import { type OpenApi, operationsOf } from '../openapi.ts'
import { cell, head, markedLine, type Part, partOf } from './routes.ts'

/** An event that no route is named after: the service tells of it by itself, or beside another. */
interface OwnEvent {
  readonly type: string
  /** The package that tells it. */
  readonly by: string
  readonly about: string
}

/** Who tells what, in one line each: `type`, the package, when. */
const LINES = `
alert.firing alerts: an alert begins
alert.resolved alerts: an alert is over
alert.test alerts: a test message was sent to a receiver
audit.begin audit: the audit trail begins
auth.flood access: many logins with unknown names have failed, as a sum
auth.lock access: failed logins have locked a name for a network
auth.refuse api: credentials were refused, as a sum, once a minute
auth.reuse access: a refresh token was used twice; its session has ended
backup.create backup: a backup was taken
card.erase card-writer: which card an erased SIM was on is forgotten
compliance.export compliance: somebody took the regulator's file
core.config_apply core-config: a configuration of the core is in force
core.config_refused core-config: the core refused its configuration
core.overlays_restored core-config: the operator's own lines of the core's files were put back from the store
core.edit_undone core-config: an edit by hand of a file of the core was undone, and a copy kept
core.recall driver-core-a: phones without a session must attach again
core.restart southbound: a daemon of the core was restarted
esim.cancel_order esim-smdp: an order system has cancelled an order
esim.cancel_failed esim-smdp: a provider does not cancel a code that is revoked here
esim.cancel_told esim-smdp: a provider has cancelled a code that is revoked here
esim.cancelled esim-smdp: a phone has cancelled its download
esim.confirm esim-smdp: an order system has confirmed an order
esim.downloaded esim-smdp: a phone has downloaded its profile
esim.erase esim-smdp: the codes of an erased SIM were removed
esim.expired esim-smdp: a code has expired
esim.guessed esim-smdp: somebody tries activation codes
esim.install_failed esim-smdp: a phone could not install its profile
esim.locked esim-smdp: an eUICC is locked out after failures
esim.order esim-smdp: an order system has ordered a profile
esim.release esim-smdp: an order system has released an order
esim_cert.renew esim-smdp: a certificate was renewed
health.degraded kernel: a component has a problem and still works; the subject is its name in \`GET /v1/health\`
health.down kernel: a component does not work
health.ok kernel: a component works again
groups.take groups: the hub has told what this box is to have
software.runs groups: the box has become well on another build
software.went_back groups: another build was not well in time, and the box runs the one before
software.refused groups: the state could not be copied, so another build was not tried
incident.began nodes: an outage has begun; the subject is its id in \`GET /v1/incidents\`
incident.over nodes: an outage is over
node.degrade nodes: heartbeats of a node are missing
node.enroll.refuse mesh: invitations were refused, as a sum
node.expelled mesh: this node was removed from its mesh
node.init nodes: the node was made
node.recover nodes: heartbeats of a node arrive again
node.renew mesh: a node has a new certificate
passkey.disable access: a passkey was disabled, because its signature counter did not grow
peer.active mesh: a link to a peer works
peer.follow mesh: the key of a peer has changed
peer.join mesh: a member of the mesh became a peer
peer.key mesh: this node has its next key
peer.leave mesh: a member has left the mesh
peer.stale mesh: a link to a peer no longer works
policy.create policy: the policy was made
quota.exceeded fair-use: a SIM has used up its quota
quota.warning fair-use: a SIM has used 80 % of its quota
ran.state driver-ran: the state of this node's radio has changed (\`data.state\`: \`off\`, \`waiting\`, \`starting\`, \`radio_up\`, \`s1_up\`, \`s1_down\`, \`stalled\`, \`stopping\`, \`refused\` or \`not_permitted\`)
ran.not_permitted driver-ran: a cell that runs by itself is on air although it must be off
roaming.change roaming: another box is told of changed SIMs
roaming.end roaming: leases of SIMs at another box end
roaming.grant roaming: another box gets leases of SIMs
roaming.lapse roaming: leases of another box's SIMs have ended here
roaming.usage roaming: usage of SIMs at another box was counted
session.begin sessions: a session of a phone begins
session.end sessions: a session of a phone ends
session.many sessions: more than 200 sessions began or ended in one poll; read \`GET /v1/sessions\`
sim.attach sims: a SIM was attached for the first time
sim.attached sims: a phone has attached, each time
sim.detached sims: a phone is no longer attached
sim.erase compliance: the data of a person were erased
sim.expire sims: a SIM has expired
sim.handout sims: PINs and PUKs were printed
sim.many sims: more than 20 SIMs attached or detached at once, with the number of each; read \`GET /v1/sims\`
sim.pending sims: a SIM differs in the HSS; it is written again
sim.refused sims: the HSS refused a SIM
sim.synced sims: the HSS has a SIM as it should be
sim.throttle fair-use: a SIM is slowed down
sim.unexpire sims: a SIM had expired because the clock was wrong; its state before holds again
sim.unthrottle fair-use: a SIM has its own rate again
store.accept cli: somebody accepted the loss of changes in a store, so that the service starts again
support.bundle support: somebody took a support bundle
token.prune access: expired tokens were removed
tx.auto_disarm policy: the gate has disarmed TX by itself, in the audit trail
tx.auto_disarmed policy: the gate has disarmed TX by itself
tx.off policy: the transmitter is off, and has confirmed it
tx.on policy: the transmitter may transmit
tx.unconfirmed policy: the transmitter has not confirmed its stop and may be on air
usage.refuse fair-use: a mesh member has reported usage that it cannot know, once an hour for each
vault.rotate kernel: secrets are sealed under a new key
`

/** All of them, by type. */
const OWN_EVENTS: readonly OwnEvent[] = LINES.trim()
  .split('\n')
  .map((line) => {
    const [, type = '', by = '', about = ''] = /^(\S+) (\S+): (.+)$/.exec(line) ?? []
    return { type, by, about }
  })

const ABOUT = `Every event of \`GET /v1/events\` ([how the stream works](api.md#events)). A change that somebody asked for has the same name in the
audit trail. Plugins listen by these names, or to all events of a noun (\`sim.*\`).`

/** Packages whose sources tell no events of the service. */
const NOT_THE_SERVICE = ['contracts', 'testkit', 'testbed', 'lab-core', 'e2e', 'site']
const TYPES: readonly RegExp[] = [
  /(?:event|tell)\(\{\s*type: '([a-z_]+\.[a-z_.]+)'/g,
  /mutate\(\s*[\w.]+(?:\([^)]*\))?,\s*'([a-z_]+\.[a-z_.]+)'/g,
  /const \w*ACTION\w* = '([a-z_]+\.[a-z_.]+)'/g,
  /\b(?:type|action): '([a-z_]+\.[a-z_.]+)'/g,
]

export function eventsPage(document: OpenApi, parts: readonly Part[]): string {
  const asked = operationsOf(document)
    .flatMap((operation) => {
      const { method, path, object } = operation
      const type = object['x-audit-action']
      if (type === undefined) return []
      const row = `| \`${type}\` | \`${method} ${path}\` | ${cell(object.summary ?? '')} |`
      return [markedLine(row, partOf(operation, parts))]
    })
    .sort()
  const own = OWN_EVENTS.map(({ type, by, about }) =>
    markedLine(
      `| \`${type}\` | ${cell(about)} |`,
      parts.find(({ name }) => name === by),
    ),
  )
  return `${head('Events', 'routes and sources', ABOUT)}
## Changes that somebody asked for

| Event | Route | What was done |
|---|---|---|
${asked.join('\n')}

## What happens by itself

| Event | Meaning |
|---|---|
${own.join('\n')}
`
}

/** Events that sources tell and that neither a route nor the page of events knows. */
export function unknownEvents(document: OpenApi): readonly string[] {
  const known = new Set([
    ...operationsOf(document).map(({ object }) => object['x-audit-action']),
    ...OWN_EVENTS.map(({ type }) => type),
  ])
  return readdirSync(join(ROOT, 'packages'))
    .filter((name) => !NOT_THE_SERVICE.includes(name))
    .flatMap((name) => typesIn(join(ROOT, 'packages', name, 'src')).map((type) => ({ name, type })))
    .filter(({ type }) => !known.has(type))
    .map(({ name, type }) => `${type} of ${name}`)
}

function typesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .flatMap((text) => TYPES.flatMap((pattern) => [...text.matchAll(pattern)].map(([, type = '']) => type)))
}
