import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import type { Peer } from './peer-facts.ts'

/** Takes the next key of a box that was linked by hand: nobody else tells it. */
export function NextKeyForm({ peer, onChange }: { readonly peer: Peer; readonly onChange: () => void }) {
  const [key, setKey] = useState('')
  const tell = useAction(() =>
    api.post('/v1/peers/{id}/rotate', { path: { id: peer.id }, body: { public_key: key.trim() } }),
  )
  const go = async (): Promise<void> => {
    if ((await tell.run())?.ok !== true) return
    setKey('')
    toast({ text: t('mesh.nextKey.done', { name: peer.name }) })
    onChange()
  }
  return (
    <form
      class="stack apart"
      onSubmit={(event) => {
        event.preventDefault()
        void go()
      }}
    >
      <Field
        label={t('mesh.nextKey')}
        help={t('mesh.nextKey.help')}
        value={key}
        onInput={setKey}
        isRequired
      />
      {tell.error === undefined ? null : <ErrorNotice error={tell.error} />}
      <div>
        <Button type="submit" isBusy={tell.isBusy}>
          {t('mesh.nextKey.go')}
        </Button>
      </div>
    </form>
  )
}
