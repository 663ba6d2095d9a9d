import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { grouped, type Peer } from './peer-facts.ts'

/** Boxes that were heard of nearby, with the fingerprint that their certificate must have. */
export function Suggested({ peers }: { readonly peers: readonly Peer[] }) {
  return (
    <section aria-labelledby="mesh-suggested">
      <h2 id="mesh-suggested">{t('mesh.suggested')}</h2>
      <p>{t('mesh.suggested.help')}</p>
      <div class="cards">
        {peers.map((peer) => (
          <Suggestion key={peer.id} peer={peer} />
        ))}
      </div>
    </section>
  )
}

function Suggestion({ peer }: { readonly peer: Peer }) {
  const accept = useAction(() => api.post('/v1/peers/{id}/accept', { path: { id: peer.id } }))
  const go = async (): Promise<void> => {
    const result = await accept.run()
    if (result?.ok === true) toast({ text: t('mesh.accepted', { name: peer.name }) })
  }
  return (
    <article class="card" aria-label={peer.name}>
      <h3>{peer.name}</h3>
      <p>{peer.endpoint ?? ''}</p>
      <p class="fine">{t('mesh.fingerprint')}</p>
      <p>
        <code>{grouped(peer.fingerprint ?? '')}</code>
      </p>
      {accept.error === undefined ? null : <ErrorNotice error={accept.error} />}
      {may('operator') ? (
        <Button kind="primary" isBusy={accept.isBusy} onClick={() => void go()}>
          {t('mesh.accept')}
        </Button>
      ) : null}
    </article>
  )
}
