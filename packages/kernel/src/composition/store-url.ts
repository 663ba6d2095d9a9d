import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'

/** The address of the store: `store.url`, or a SQLite file in the data directory. */
export function storeUrlOf({ store, server }: Settings): string {
  return store.url === '' ? `sqlite:${join(server.data_dir, 'svc.db')}` : store.url
}

/** The file of the store; undefined when it is none. */
export function fileOfStore(settings: Settings): string | undefined {
  return fileOf(storeUrlOf(settings))
}

/** The file that an address of a store names; undefined when it names none. */
export function fileOf(url: string): string | undefined {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
}
