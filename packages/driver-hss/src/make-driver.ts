import { type Settings, sectionOf } from '@steeple/contracts'
import { dbctlDriver } from './dbctl/dbctl-driver.ts'
import type { WriteBackDriver } from './driver.ts'
import { FREE5GC_DATABASE, free5gcDriver } from './free5gc/free5gc-driver.ts'
import type { DocumentLink } from './links/document-link.ts'
import { engineHost } from './links/engine-host.ts'
import { mongoLink } from './links/mongo-link.ts'
import { shellLink } from './links/shell-link.ts'
import { noneDriver } from './none-driver.ts'
import { OPEN5GS_DATABASE, open5gsDriver } from './open5gs/open5gs-driver.ts'

/** Of a core that nothing is known of: what the drivers of cores have where nothing is said. */
const STOCK_RELEASE = '4.2.3'
const STOCK_SLICES: Settings['core_a']['slices'] = [{ sst: 1 }]

/**
 * The driver that the settings name. Opens nothing yet. PLMN and slices are read at each call, since they change
 * without a reload.
 */
export function makeDriver(settings: () => Settings): WriteBackDriver {
  const { hss } = settings()
  const slices = () => sectionOf(settings(), 'core_a').slices ?? STOCK_SLICES
  if (hss.driver === 'none') return noneDriver()
  if (hss.driver === 'core_b') {
    const link = linkOf(hss, FREE5GC_DATABASE)
    const plmn = () => settings().plmn
    return free5gcDriver({
      name: hss.driver,
      link,
      plmn,
      slices: () => sectionOf(settings(), 'core_b').slices ?? STOCK_SLICES,
      release: () => sectionOf(settings(), 'core_b').release ?? STOCK_RELEASE,
    })
  }
  if (hss.driver === 'docdb_shell') {
    return open5gsDriver({ name: hss.driver, link: linkOf(hss, OPEN5GS_DATABASE), slices })
  }
  const documents =
    hss.mongo_url === ''
      ? undefined
      : open5gsDriver({ name: hss.driver, link: linkOf(hss, OPEN5GS_DATABASE), slices })
  return dbctlDriver({ path: hss.dbctl_path, url: hss.mongo_url, documents })
}

/** The database itself when it can be reached, else a mongosh in its container. */
function linkOf(hss: Settings['hss'], database: string): DocumentLink {
  if (hss.mongo_url !== '') return mongoLink(hss.mongo_url, database)
  return shellLink(engineHost(hss.engine_socket, hss.container), database)
}
