import type { Look, Settings } from '@steeple/contracts'

const MONGO_PORT = 27_017

/** The subscriber database: its container, its program or its hosts. */
export function hssLooks({ hss }: Pick<Settings, 'hss'>): readonly Look[] {
  const { driver, mongo_url: url } = hss
  const isShell = url === '' && (driver === 'docdb_shell' || driver === 'core_b')
  return [
    ...(isShell ? [{ name: 'hss', container: hss.container, key: 'hss.container (or hss.driver)' }] : []),
    ...(driver === 'dbctl' ? [{ name: 'hss', program: hss.dbctl_path, key: 'hss.dbctl_path' }] : []),
    ...mongoHosts(url).map((host) => ({ name: 'hss', url: `mongodb://${host}`, key: 'hss.mongo_url' })),
  ]
}

/** `mongodb://user:password@a:1,b/db`: the hosts with their ports, never the rest. */
function mongoHosts(url: string): readonly string[] {
  if (url === '' || url.startsWith('mongodb+srv:')) return []
  const authority = url.replace(/^mongodb:\/\//, '').split('/')[0] ?? ''
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',')
  return hosts.map((host) => (/:\d+$/.test(host) ? host : `${host}:${MONGO_PORT}`))
}
