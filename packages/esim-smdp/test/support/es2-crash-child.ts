import { type Es2World, es2World } from './es2-world.ts'
import { fileDb } from './file-db.ts'

/** What the parent sends: where the store is, then calls. */
export type ToOrders =
  | { readonly id: number; readonly open: string }
  | { readonly id: number; readonly name: string; readonly body: object; readonly callId: string }

if (process.send !== undefined) serve()

/** Takes orders over the channel to the parent until it is killed. */
function serve(): void {
  let opened: Promise<Es2World> | undefined
  process.on('message', (message: ToOrders) => {
    if ('open' in message) opened = es2World({ db: fileDb(message.open) })
    void opened?.then(async (world) => {
      const answer =
        'open' in message ? {} : await world.call('a', message.name, message.body, message.callId)
      process.send?.({ id: message.id, ...answer })
    })
  })
}
