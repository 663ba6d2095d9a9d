// Processor time of whole downloads by different eUICCs, from initiateAuthentication to the result of the installation, JSON
// included: node scripts/bench-downloads.mjs [downloads, 400] [P-256 | brainpoolP256r1] [store file; in memory when absent].
import { fileDb } from '../test/support/file-db.ts'
import { handset } from '../test/support/handset.ts'
import { pki } from '../test/support/pki.ts'
import { ADDRESS, world } from '../test/support/world.ts'

const downloads = Number(process.argv[2] ?? 400)
const curve = process.argv[3] ?? 'P-256'
const file = process.argv[4]
/** The first ones are slower: code is compiled, the template is read. */
const WARM = Math.ceil(downloads / 4)

const all = await world({ pki: pki(curve), ...(file !== undefined && { db: fileDb(file) }) })
const parts = new Map()
const totals = []
for (let at = 1; at <= downloads + WARM; at += 1) {
  const { matchingId } = await all.issue(at)
  const phone = handset(all.euicc(at), ADDRESS)
  let total = 0
  const call = async (name, fields) => {
    const octets = Buffer.from(JSON.stringify(fields))
    const before = process.cpuUsage()
    const { body } = await all.es9.call(name, octets, '')
    JSON.stringify(body)
    const { user, system } = process.cpuUsage(before)
    total += (user + system) / 1_000
    if (at > WARM) parts.set(name, (parts.get(name) ?? 0) + (user + system) / 1_000)
    return body
  }
  const first = await call('initiateAuthentication', phone.initiate())
  const offer = await call('authenticateClient', phone.authenticate(first, matchingId))
  const bound = await call('getBoundProfilePackage', phone.prepare(offer))
  await call('handleNotification', phone.install(bound)[0])
  if (at > WARM) totals.push(total)
}
// On a busy machine all is slower: the best of five runs says what it takes.
const share = Math.floor(totals.length / 5)
const meanOf = (some) => some.reduce((sum, ms) => sum + ms, 0) / some.length
const runs = Array.from({ length: 5 }, (_, run) => meanOf(totals.slice(run * share, (run + 1) * share)))
const lines = [...parts].map(([name, ms]) => `${(ms / totals.length).toFixed(2).padStart(8)} ms  ${name}`)
process.stdout.write(
  `${lines.join('\n')}\n${curve}, store ${file ?? 'in memory'}: ${meanOf(totals).toFixed(2)} ms, the best fifth ${Math.min(...runs).toFixed(2)} ms\n`,
)
await all.close()
