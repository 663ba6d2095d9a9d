import type { PeoplePlace, PersonWish } from '@steeple/access/offline'
import { type Reply, systemPrincipal } from '@steeple/contracts'
import { openOffline, systemClock } from '@steeple/kernel'
import { openSecrets } from '@steeple/secrets'
import type { Json } from '../client/service.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { commandLog } from './command-log.ts'
import { settledHere } from './settled-here.ts'

/** `svc user add NAME --offline`: adds a person while no service runs here. Throws `data_dir_in_use`, `user_exists`. */
export async function addPersonHere(
  terminal: Terminal,
  options: PlaceOptions,
  wish: PersonWish,
): Promise<Json> {
  const { addPerson } = await import('@steeple/access/offline')
  return changeHere(terminal, options, (place) => addPerson(place, wish))
}

/** `svc user reset NAME --offline`: other credentials while no service runs here. Throws `data_dir_in_use`, `user_not_found`. */
export async function resetPersonHere(
  terminal: Terminal,
  options: PlaceOptions,
  name: string,
): Promise<Json> {
  const { resetPerson } = await import('@steeple/access/offline')
  return changeHere(terminal, options, (place) => resetPerson(place, name))
}

async function changeHere(
  terminal: Terminal,
  options: PlaceOptions,
  change: (place: PeoplePlace) => Promise<Reply>,
): Promise<Json> {
  const settings = await settledHere(terminal, options)
  const secrets = openSecrets(settings.server.data_dir)
  const clock = systemClock()
  const log = commandLog(terminal)
  const store = await openOffline({ settings, secrets, clock, log, use: 'exclusive' })
  try {
    const principal = systemPrincipal('svc user')
    const mutations = store.mutations()
    const { body } = await change({
      reader: store.db,
      vault: store.vault,
      clock,
      identity: secrets.identity,
      principal,
      mutate: async (action, target, work) =>
        (await mutations.run({ principal, action, target, owner: 'access', work })).reply,
    })
    // Both answer the record of a user.
    return body as Json
  } finally {
    await store.close()
  }
}
