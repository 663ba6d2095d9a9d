import type { DoctorPart, Neighbour } from '../doctor-part.ts'

const MONGO_PORT = 27_017

/** The subscriber database: its container, its program or its hosts. */
export const part: DoctorPart = {
  of: 'driver-hss',
  containers: ({ hss }) => {
    const isShell = hss.mongo_url === '' && (hss.driver === 'docdb_shell' || hss.driver === 'core_b')
    return isShell ? [{ name: 'hss', what: hss.container, key: 'hss.container (or hss.driver)' }] : []
  },
  programs: ({ hss }) =>
    hss.driver === 'dbctl' ? [{ name: 'hss', what: hss.dbctl_path, key: 'hss.dbctl_path' }] : [],
  neighbours: ({ hss }) => (hss.mongo_url === '' ? [] : mongoHosts(hss.mongo_url)),
}

/** `mongodb://user:password@a:1,b/db`: the hosts, never the rest. */
function mongoHosts(url: string): readonly Neighbour[] {
  if (url.startsWith('mongodb+srv:')) return []
  const authority = url.replace(/^mongodb:\/\//, '').split('/')[0] ?? ''
  const hosts = authority.slice(authority.lastIndexOf('@') + 1).split(',')
  return hosts.map((text) => {
    const [, host = text, port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? []
    return {
      name: 'hss',
      at: text,
      connect: { host: host.replaceAll(/[[\]]/g, ''), port: Number(port ?? MONGO_PORT) },
      remedy: 'start the subscriber database or correct hss.mongo_url',
    }
  })
}
