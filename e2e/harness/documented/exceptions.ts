/** Commands of the documentation that the test of all commands does not run. */
interface Exception {
  /** The page, from `docs/`. */
  readonly page: string
  /** How the command begins; '' for all of the page. */
  readonly begins: string
  readonly why: string
}

const HARDWARE = 'needs a core in containers, which real-core.test runs'
const RUNNING = 'needs a core that runs; adopt-core.test has programs of its names'
const THEIRS = 'needs files of a core that the service did not write; foreign-core.test has such'
const TWO_BOXES = 'needs two boxes with TLS, which mesh.test and mesh-lifecycle.test run'
const ROOTS = 'needs a root that moves or is lost, which mesh-faults.test has'
const ROAMING = 'needs other boxes of a mesh, which roaming.test runs'
const GROUPS = 'needs other boxes of a mesh, which groups.test runs'
const PERSON = 'waits for what a person types'

/** Why not, and which test runs it or its like: of all commands of a page, or by how they begin. Whoever adds one says why. */
const BY_PAGE: Readonly<Record<string, string | Readonly<Record<string, string>>>> = {
  'builds.md': 'makes whole builds, which build.test and build-parts.test do',
  'packages.md': 'installs on a machine, which real-packages.test does in a bare Debian',
  'how-to/whole-box.md':
    'installs a core, which this repository does not have; docs/reference/compatibility.md says when it was followed by hand',
  'how-to/upgrade.md':
    'upgrades a package and goes back, which real-upgrade.test does with these very commands',
  'monitoring/README.md': 'installs Prometheus; monitoring.test runs it with these files',
  'how-to/reverse-proxy.md': 'installs nginx; reverse-proxies.test runs it with these files',
  'how-to/alerts.md': {
    'SECRET_FILE=': 'a program that runs on; alerts-receivers.test has it with a relay',
    'svc alert receiver test maria':
      'writes to Telegram; receivers.test has a service that answers as it does',
  },
  'how-to/backup.md': {
    'svc backup --encrypt': `${PERSON}; backup.test gives a file`,
    'svc restore FILE --adopt': 'needs a second machine; backup.test has two nodes',
  },
  'how-to/groups.md': GROUPS,
  'how-to/software.md': 'makes builds and ends the service; software.test and software-mesh.test do the same',
  'how-to/roaming.md': {
    'svc roaming permit NODE': ROAMING,
    'svc sim reach HASH --box': ROAMING,
    'svc roaming reach mesh --batch': ROAMING,
  },
  'how-to/compliance.md': {
    'svc sim forget HASH --without-core': 'needs a core that is gone; compliance.test takes one away',
  },
  'how-to/core.md': {
    'install -d -m 2750': HARDWARE,
    'docker run -d --name mme': HARDWARE,
    'svc core adopt': RUNNING,
    'svc core take-over': THEIRS,
    'svc core restore-original': THEIRS,
  },
  'how-to/free5gc.md': {
    'install -d /srv/steeple/cdr': HARDWARE,
    'docker run -d --name chf': HARDWARE,
  },
  'how-to/esim-certificates.md': {
    'svc esim certs import':
      'needs certificates of a CI; esim-documented.test imports those of SGP.26 and goes on by the page',
    'svc esim certs init': 'is needed before the first code: the test runs it before all pages',
  },
  'how-to/esim-orders.md': {
    'es2 ': 'needs TLS under a public name; esim.test orders by ES2+',
  },
  'how-to/esim-real-phones.md': {
    'svc esim provider': 'needs a provider, its key and its files; esim-providers.test orders from one',
    'openssl x509': 'needs the client certificate of a provider; notify-tls of esim-smdp has one',
    'svc esim mdm-list': 'needs codes of that batch; esim-providers.test takes them',
  },
  'how-to/mesh.md': {
    'echo TOKEN | svc node join': TWO_BOXES,
    'svc node leave': TWO_BOXES,
    'svc node remove': TWO_BOXES,
    'svc mesh invite': TWO_BOXES,
    'svc mesh root-address': ROOTS,
    'svc mesh take-root': ROOTS,
  },
  'how-to/links.md': {
    'svc peer': 'needs WireGuard and root; peers.test links two boxes',
  },
  'explanation/transport.md': {
    'openssl s_client': TWO_BOXES,
    'curl --cacert': TWO_BOXES,
  },
  'how-to/passkeys-and-certificates.md': {
    'svc user cert': 'needs TLS; operator-certificates.test runs both',
  },
  'how-to/plugins.md':
    'signs and loads a built plugin; plugin-tutorials.test does on a box of its own, plugin-new.test for each kind',
  'how-to/radio.md': {
    'podman create': 'needs a radio in a container; the tests of driver-ran have one',
    'svc tx arm mast': 'needs a licence and a radio, as the dry run',
    'svc tx profile dry-run': 'needs a radio; disarm.test arms and disarms stand-ins',
  },
  'how-to/core-systemd.md':
    'needs a core under systemd; real-systemd.test has units, and the page was followed with Open5GS',
  'how-to/import.md': {
    'svc sim foreign': 'needs the database of a core; adopt-http.long.test has one',
    'svc core release':
      'shows and asks, which is no success, and ends the driving of the core that other pages need',
    'svc sim adopt': 'as svc sim foreign',
    mongoexport: 'the exporter of a MongoDB; driver-hss reads what it writes',
  },
  'how-to/radio-external.md':
    'needs a cell with a switch, which external.e2e.test and switches.e2e.test of driver-ran stand in for',
  'how-to/write-cards.md':
    'installs pySim and writes cards; cards-http of card-writer has a stand-in, real-pysim the program',
  'how-to/sims.md': {
    'svc sim find -': PERSON,
  },
  'tutorials/first-ten-minutes.md': 'goes on from block to block: first-ten-minutes.test',
  'tutorials/core-driver.md': 'goes on from block to block: plugin-tutorials.test',
  'tutorials/hss-driver.md': 'goes on from block to block: plugin-tutorials.test',
}

export const EXCEPTIONS: readonly Exception[] = Object.entries(BY_PAGE).flatMap(([page, reasons]) =>
  Object.entries(typeof reasons === 'string' ? { '': reasons } : reasons).map(([begins, why]) => ({
    page,
    begins,
    why,
  })),
)

/** Commands that say no by exit code 1, which is an answer. */
export const MAY_SAY_NO: readonly string[] = ['svc sim why', 'svc doctor']
