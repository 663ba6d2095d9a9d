import type { AnswerOf } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { durationText } from '../../ui/time.tsx'

type Invitation = AnswerOf<'POST', '/v1/mesh/invite'>

/** Invites another box: a token that works once and is shown once. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [made, setMade] = useState<Invitation | undefined>(undefined)
  const invite = useAction(() =>
    api.post('/v1/mesh/invite', { body: name.trim() === '' ? {} : { name: name.trim() } }),
  )
  const go = async (): Promise<void> => {
    const result = await invite.run()
    if (result?.ok === true) setMade(result.data)
  }
  return (
    <Dialog isOpen title={t('mesh.do.invite')} onClose={onClose} isFirm={made !== undefined}>
      {made === undefined ? (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault()
            void go()
          }}
        >
          <p>{t('mesh.invite.what')}</p>
          <Field
            label={t('mesh.invite.name')}
            help={t('mesh.invite.name.help')}
            value={name}
            onInput={setName}
          />
          {invite.error === undefined ? null : <ErrorNotice error={invite.error} />}
          <div class="actions">
            <Button onClick={onClose}>{t('ui.cancel')}</Button>
            <Button type="submit" kind="primary" isBusy={invite.isBusy}>
              {t('mesh.invite.go')}
            </Button>
          </div>
        </form>
      ) : (
        <Shown invitation={made} onClose={onClose} />
      )}
    </Dialog>
  )
}

function Shown({ invitation, onClose }: { readonly invitation: Invitation; readonly onClose: () => void }) {
  const leftMs = useCountdown(invitation.expires_at)
  const isOver = leftMs <= 0
  return (
    <div class="stack">
      <Notice tone={isOver ? 'bad' : 'warn'}>{isOver ? t('mesh.invite.over') : t('mesh.invite.once')}</Notice>
      {isOver ? null : (
        <>
          <p class="countdown" role="timer">
            {t('mesh.invite.left', { time: durationText(leftMs) })}
          </p>
          <QrCode text={invitation.command} what={t('mesh.invite.qr')} />
          <p>
            {t('mesh.invite.command')} <Copy text={invitation.command} />
          </p>
          <pre>{invitation.command}</pre>
        </>
      )}
      <p>{t('mesh.words')}</p>
      <p class="words">{invitation.ca_words}</p>
      <div class="actions">
        <Button onClick={onClose}>{t('mesh.invite.done')}</Button>
      </div>
    </div>
  )
}

const TICK_MS = 1_000

/** Ms until a moment, second by second; 0 from then on. */
function useCountdown(until: string): number {
  const left = (): number => Math.max(0, Date.parse(until) - Date.now())
  const [leftMs, setLeftMs] = useState(left)
  useEffect(() => {
    const timer = setInterval(() => setLeftMs(left()), TICK_MS)
    return () => clearInterval(timer)
  }, [until])
  return leftMs
}
