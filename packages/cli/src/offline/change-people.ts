import type { PeoplePlace, PersonWish } from '@steeple/access/offline'
import { type Reply, systemPrincipal } from '@steeple/contracts'
import { systemClock } from '@steeple/kernel'
import type { Json } from '../client/service.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'
import { withStore } from './with-store.ts'

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
  return await withStore(terminal, settings, 'exclusive', async (store, secrets) => {
    const principal = systemPrincipal('svc user')
    const mutations = store.mutations()
    const { body } = await change({
      reader: store.db,
      vault: store.vault,
      clock: systemClock(),
      identity: secrets.identity,
      principal,
      mutate: async (action, target, work) =>
        (await mutations.run({ principal, action, target, owner: 'access', work })).reply,
    })
    // Both answer the record of a user.
    return body as Json
  })
}
