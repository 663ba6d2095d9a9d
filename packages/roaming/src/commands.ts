import type { CommandHost, Commands } from '@steeple/contracts'

/** What the commands of this plugin do, by their words. */
export const commands: Commands = {
  'roaming reach': many,
  'sim reach': reach,
}

async function reach(host: CommandHost): Promise<void> {
  const { hash, reach: typed, box } = host.typed
  const path = { imsi: host.simHash(String(hash)) }
  const boxes = Array.isArray(box) ? box : []
  const wanted = boxes.length > 0 ? 'boxes' : typed
  if (boxes.length > 0 && typed !== undefined && typed !== 'boxes')
    throw host.usage('--box goes without a reach, or with boxes')
  const answer =
    wanted === undefined
      ? await host.call('GET /v1/sims/{imsi}/reach', { path })
      : await host.call('PUT /v1/sims/{imsi}/reach', {
          path,
          body: { reach: wanted, ...(boxes.length > 0 ? { boxes } : {}) },
        })
  host.printRecord(answer)
}

async function many(host: CommandHost): Promise<void> {
  const { reach: wanted, hash, batch, box } = host.typed
  const hashes = Array.isArray(hash) ? hash.map((one) => host.simHash(String(one))) : []
  const body = {
    reach: wanted,
    ...(typeof batch === 'string' ? { batch_id: batch } : {}),
    ...(hashes.length > 0 ? { ids: hashes } : {}),
    ...(Array.isArray(box) && box.length > 0 ? { boxes: box } : {}),
  }
  host.printRecord(await host.call('POST /v1/roaming/reach', { body }))
}
