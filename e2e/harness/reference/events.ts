import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import { type OpenApi, operationsOf } from '../openapi.ts'
import { cell, head, markedLine, type Part } from './parts.ts'
import { partOf } from './routes.ts'

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
auth.flood access: many logins of people that do not exist have failed, in sum
auth.lock access: failed logins have locked a name at a network
auth.refuse api: credentials that do not hold, in sum, once a minute
auth.reuse access: a refresh token came twice; its session has ended
backup.create backup: a backup was taken
compliance.export compliance: somebody took the regulator's file
core.config_apply core-config: a configuration of the core is in force
core.config_refused core-config: the core did not take its configuration
core.recall driver-core-a: phones without a session were told to attach again
core.restart southbound: a daemon of the core was restarted
esim.cancel_order esim-smdp: an order system has cancelled an order
esim.cancelled esim-smdp: a phone has cancelled its download
esim.confirm esim-smdp: an order system has confirmed an order
esim.downloaded esim-smdp: a phone has taken its profile
esim.erase esim-smdp: the codes of an erased SIM are gone
esim.expired esim-smdp: a code has expired
esim.guessed esim-smdp: somebody tries activation codes
esim.install_failed esim-smdp: a phone could not install its profile
esim.locked esim-smdp: an eUICC is locked out after failures
esim.order esim-smdp: an order system has ordered a profile
esim.release esim-smdp: an order system has released an order
esim_cert.renew esim-smdp: a certificate was renewed
health.degraded kernel: a part works, but not as it should; the subject is its name in \`GET /v1/health\`
health.down kernel: a part does not work
health.ok kernel: a part works again
node.degrade nodes: heartbeats of a node have stayed away
node.enroll.refuse mesh: invitations that do not hold, in sum
node.expelled mesh: this node was put out of its mesh
node.init nodes: the node was made
node.recover nodes: heartbeats of a node have come back
node.renew mesh: a node has a new certificate
passkey.disable access: a passkey signed with a count that does not grow
peer.active mesh: a link to a peer works
peer.follow mesh: the key of a peer has changed
peer.join mesh: a member of the mesh became a peer
peer.key mesh: this node has its next key
peer.leave mesh: a member has left the mesh
peer.stale mesh: a link to a peer no longer works
policy.create policy: the policy was made
quota.exceeded fair-use: a SIM has used up its quota
quota.warning fair-use: a SIM has used 80 % of its quota
ran.state driver-ran: the radio of this node came into another state (\`data.state\`: \`off\`, \`waiting\`, \`starting\`, \`radio_up\`, \`s1_up\`, \`s1_down\`, \`stalled\`, \`stopping\` or \`refused\`)
session.begin sessions: a session of a phone begins
session.end sessions: a session of a phone ends
session.many sessions: more than 200 sessions began or ended within one look; read \`GET /v1/sessions\`
sim.attach sims: a SIM was attached for the first time
sim.attached sims: a phone has attached, each time
sim.detached sims: a phone is no longer attached
sim.erase compliance: the data of a person are gone
sim.expire sims: a SIM has expired
sim.many sims: more than 20 SIMs came to or fell from the core at once, with how many of each; read \`GET /v1/sims\`
sim.pending sims: the HSS holds a SIM otherwise than it should; it is pushed again
sim.refused sims: the HSS did not take a SIM
sim.synced sims: the HSS holds a SIM as it should
sim.throttle fair-use: a SIM is slowed down
sim.unexpire sims: a SIM expired by a wrong clock and is what it was
sim.unthrottle fair-use: a SIM has its own rate again
store.accept cli: what a store had lost was accepted, so that the service starts again
support.bundle support: somebody took a support bundle
token.prune access: expired tokens were removed
tx.auto_disarm policy: the gate has disarmed TX by itself, in the audit trail
tx.auto_disarmed policy: the gate has disarmed TX by itself
tx.off policy: the transmitter is off, and has said so
tx.on policy: the transmitter is permitted to send
tx.unconfirmed policy: the transmitter was told to stop and has not said that it did: it may be on air
usage.refuse fair-use: a member of the mesh has reported usage that it cannot know of; once an hour for each
vault.rotate kernel: secrets are sealed under a new key
`

/** All of them, by type. */
const OWN_EVENTS: readonly OwnEvent[] = LINES.trim()
  .split('\n')
  .map((line) => {
    const [, type = '', by = '', about = ''] = /^(\S+) (\S+): (.+)$/.exec(line) ?? []
    return { type, by, about }
  })

const ABOUT = `Every event of \`GET /v1/events\` ([how the stream works](api.md#events)). A change that somebody asked for is told under the name that it has
in the audit trail. Plugins listen by the same names, or to all of a noun (\`sim.*\`).`

/** Packages whose sources tell no events of the service. */
const NOT_THE_SERVICE = ['contracts', 'testkit', 'testbed', 'lab-core', 'e2e', 'docs']
const TYPES: readonly RegExp[] = [
  /(?:event|tell)\(\{\s*type: '([a-z_]+\.[a-z_.]+)'/g,
  /mutate\(\s*[\w.]+(?:\([^)]*\))?,\s*'([a-z_]+\.[a-z_.]+)'/g,
  /const \w*ACTION\w* = '([a-z_]+\.[a-z_.]+)'/g,
  /\b(?:type|action): '([a-z_]+\.[a-z_.]+)'/g,
]

/** The page of all events. */
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
## Changes that were asked for

| Event | Comes of | What was done |
|---|---|---|
${asked.join('\n')}

## What happens by itself

| Event | When |
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
