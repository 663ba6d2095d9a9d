// What a profile costs, as JSON: node scripts/bench-profiles.mjs [rounds]. Processor time in ms of reading the bundled template,
// personalising it, and binding what comes out (12 KB), with the key agreement and the signature; the best of five runs.
import { generateKeyPairSync } from 'node:crypto'
import { oneTimeKey } from '@steeple/sgp22'
import { bindProfile } from '../src/bpp/bind.ts'
import { storeMetadata } from '../src/es9/profile-of.ts'
import { loadTemplate } from '../src/profile/template.ts'
import { BUNDLED, FACTS } from '../test/support/profiles.ts'

const rounds = Number(process.argv[2] ?? 500)

const costMs = (work, count = rounds) => {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    for (let i = 0; i < count; i++) work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000 / count
  })
  return Number(Math.min(...runs).toFixed(3))
}

const binding = (curve, namedCurve, mode) => {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve })
  return {
    identity: { curve, pb: { key } },
    tid: new Uint8Array(16),
    eid: '89049032123451234512345678901235',
    euiccOtpk: oneTimeKey(curve).publicPoint,
    metadata: storeMetadata({
      iccid: FACTS.iccid,
      spn: 'Steeple',
      profileName: 'Steeple 0013',
      address: 'smdp.example.com',
      owner: { mcc: '999', mnc: '70' },
    }),
    profile: template.personalise(FACTS),
    mode,
  }
}

const template = loadTemplate(BUNDLED)
const nist = binding('P-256', 'prime256v1', 'ppk')
const session = binding('P-256', 'prime256v1', 'session')
const brainpool = binding('brainpoolP256r1', 'brainpoolP256r1', 'ppk')
const results = {
  load_ms: costMs(() => loadTemplate(BUNDLED), 50),
  personalise_ms: costMs(() => template.personalise(FACTS)),
  bind_p256_ms: costMs(() => bindProfile(nist)),
  bind_p256_session_ms: costMs(() => bindProfile(session)),
  bind_brainpool_ms: costMs(() => bindProfile(brainpool), 100),
}
process.stdout.write(`${JSON.stringify(results)}\n`)
