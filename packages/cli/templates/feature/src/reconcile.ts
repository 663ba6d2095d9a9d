import { type Context, type Outcome, type Reconciler, systemPrincipal } from '@steeple/contracts'
import type { NoteStore } from './store.ts'

/**
 * Removes notes when they expire.
 *
 * Level-triggered: it reads the note and the clock itself and never trusts what woke it. Running twice changes nothing.
 */
export function expiryReconciler(context: Context<unknown>, store: NoteStore): Reconciler {
  return {
    resource: 'sample_plugin_note',
    resyncMs: 60_000,
    keys: () => store.expiring(),
    reconcile: async (keys) => {
      const outcomes = new Map<string, Outcome>()
      for (const name of keys) outcomes.set(name, await expire(context, store, name))
      return outcomes
    },
  }
}

async function expire(context: Context<unknown>, store: NoteStore, name: string): Promise<Outcome> {
  const note = await store.find(name)
  if (note === undefined || note.expires_at === null) return { state: 'converged' }
  const leftMs = note.expires_at - context.clock.nowMs()
  if (leftMs > 0) return { state: 'pending', afterMs: leftMs, reason: 'not expired yet' }
  await context.mutate(systemPrincipal(context.plugin.id), 'note.expire', name, async (tx) => {
    await store.remove(tx, name)
  })
  return { state: 'converged' }
}
