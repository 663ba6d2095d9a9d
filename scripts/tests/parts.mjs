// Which files of e2e can be tried on a build, and which of them are about packages that it lacks.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Files that make builds and packages themselves, or try the checkout: its `npm start`, its drivers without a service. */
const NOT_OF_A_BUILD =
  /^(archive|build(-.+)?|compiled|first-start|plugin-new|plugin-tutorials|readme|real-(arm64|packages|upgrade|.+-conformance))$/
/** Files that hold the service against what all packages give together. */
const OF_ALL = /^(canary|client|documentation-site|documented-commands|monitoring|reference)$/
/** Files that are about packages from the first line to the last. In others single tests are (`about` of the harness). */
const ABOUT = [
  [/^alerts-/, ['alerts']],
  [
    /^alerts-rules$/,
    ['collectors', 'collector-mme', 'collector-gtpu', 'driver-core-a', 'fair-use', 'driver-hss'],
  ],
  [/^alerts-rules-box$/, ['driver-ran', 'mesh']],
  [/^backup(-|$)/, ['backup']],
  [/^(backup-trouble|disarm|mesh-lifecycle|week)$/, ['driver-ran']],
  // What goes out of a box is of its phones, whose addresses the core's driver knows.
  [/^(mesh-lifecycle|week)$/, ['driver-core-a']],
  [
    /^canary-collectors$/,
    ['collectors', 'collector-amf', 'collector-cdr', 'collector-gtpu', 'collector-mme'],
  ],
  [/^(canary-esim|esim(-.+)?)$/, ['esim-smdp']],
  // The phones of the lab core are known to it by what the HSS was told.
  [
    /^(backup-lab|cluster|cluster-failover|console-home|esim-lab|quota-throttle|tracing-postgres|usage|usage-kill)$/,
    ['driver-hss'],
  ],
  [/^(canary-hss|hss-faults|real-hss|scenario|real-core-b.*)$/, ['driver-hss']],
  [/^(console|invitation-page)/, ['console']],
  [
    /^console-(care|pages)$/,
    ['alerts', 'backup', 'collectors', 'collector-mme', 'driver-hss', 'esim-smdp', 'fair-use', 'mesh'],
  ],
  [/^console-mesh$/, ['mesh']],
  [/^(cluster-failover|quota-kill|quota-throttle|usage|usage-kill|week)$/, ['fair-use']],
  [/^(collectors|console-home|quota-throttle|usage|usage-kill|week)$/, ['collectors']],
  [/^(quota-throttle|usage|usage-kill|week)$/, ['collector-gtpu', 'collector-mme']],
  [/^console-home$/, ['collector-mme']],
  [/^usage-kill$/, ['collector-cdr', 'driver-core-b']],
  [/^compliance$/, ['compliance']],
  [/^(mesh(-.+)?|peers(-.+)?|node-principals|operator-principals|browser-certificate)$/, ['mesh']],
  [/^(real-core|scenario)$/, ['core-config', 'driver-core-a']],
  [/^real-core-b/, ['core-config', 'driver-core-b']],
  [/^groups/, ['groups', 'mesh', 'policy', 'alerts', 'api']],
  [/^(roaming|week)/, ['roaming', 'mesh', 'driver-hss']],
  [/^support-bundle$/, ['support', 'tracing']],
  [/^tracing-/, ['tracing']],
]

export function lacksOf(build) {
  const record = join(build, 'lib/node_modules/@steeple/cli/build.json')
  return JSON.parse(readFileSync(record, 'utf8')).lacks
}

/** Why a test file is not tried on a build that lacks packages; undefined when it is. */
export function whyNot({ name, file }, lacks) {
  if (name !== 'e2e') return 'runs from the sources of its package'
  const own = basename(file, '.test.ts')
  if (NOT_OF_A_BUILD.test(own)) return 'tries the checkout, or makes its own builds'
  if (OF_ALL.test(own)) return 'is about all packages together'
  const missing = ABOUT.filter(([pattern]) => pattern.test(own))
    .flatMap(([, packages]) => packages)
    .filter((one) => lacks.includes(one))
  return missing.length === 0 ? undefined : `is about ${[...new Set(missing)].join(', ')}`
}
