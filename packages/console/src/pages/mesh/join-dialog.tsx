import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'

/** What an invitation holds: where to join, and with what. */
interface Invited {
  readonly url: string
  readonly token: string
}

/** Shorter is no token, but a word of the command around it. */
const LEAST_TOKEN = 20

/** What was pasted: the whole command of an invitation, or address and token in any order. Undefined when one of them is missing. */
function invitedFrom(text: string): Invited | undefined {
  const words = text.split(/[\s|]+/)
  const url = words.find((word) => word.startsWith('https://'))
  const token = words.find((word) => word !== url && word.length >= LEAST_TOKEN)
  return url === undefined || token === undefined ? undefined : { url, token }
}

type Joined = AnswerOf<'POST', '/v1/mesh/join'>

/** Takes this box into the mesh that an invitation is for. */
export function JoinDialog({
  onClose,
  onDone,
}: {
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [pasted, setPasted] = useState('')
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<string | undefined>(undefined)
  const [joined, setJoined] = useState<Joined | undefined>(undefined)
  const join = useAction((invited: Invited) =>
    api.post('/v1/mesh/join', { body: { ...invited, ...(name.trim() === '' ? {} : { name: name.trim() }) } }),
  )
  const go = async (): Promise<void> => {
    const invited = invitedFrom(pasted)
    setWrong(invited === undefined ? t('mesh.join.wrong') : undefined)
    if (invited === undefined) return
    const result = await join.run(invited)
    if (result?.ok !== true) return
    setJoined(result.data)
    onDone()
  }
  if (joined !== undefined) return <Welcome joined={joined} onClose={onClose} />
  return (
    <Dialog isOpen title={t('mesh.do.join')} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void go()
        }}
      >
        <p>{t('mesh.join.what')}</p>
        <Field
          label={t('mesh.join.pasted')}
          help={t('mesh.join.pasted.help')}
          value={pasted}
          onInput={setPasted}
          error={wrong}
          lines={4}
          isRequired
        />
        <Field label={t('mesh.join.name')} help={t('mesh.join.name.help')} value={name} onInput={setName} />
        {join.error === undefined ? null : <ErrorNotice error={join.error} />}
        <div class="actions">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" kind="primary" isBusy={join.isBusy}>
            {t('mesh.join.go')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Welcome({ joined, onClose }: { readonly joined: Joined; readonly onClose: () => void }) {
  return (
    <Dialog isOpen title={t('mesh.joined', { name: joined.mesh.name })} onClose={onClose}>
      <Notice tone="ok">{t('mesh.joined.address', { address: joined.overlay_address })}</Notice>
      <p>{t('mesh.words')}</p>
      <p class="words">{joined.ca_words}</p>
      <p>{t('mesh.joined.listener')}</p>
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          {t('ui.close')}
        </Button>
      </div>
    </Dialog>
  )
}
