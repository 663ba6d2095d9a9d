import {
  api,
  Button,
  ButtonLink,
  Closing,
  Copy,
  Dialog,
  ErrorNotice,
  Facts,
  FormDialog,
  Notice,
  OnlyHere,
  Progress,
  QrCode,
  Said,
  Time,
  t,
  useAction,
  useEffect,
  useState,
  word,
} from '@steeple/console/kit'
import { type Activation, type Code, isOpen, stateOf } from './code.tsx'

/** One activation code: its QR code while it opens something, what became of it, and taking it back. */
export function CodeDialog({ code, onClose }: { readonly code: Code; readonly onClose: () => void }) {
  const [isAsked, setAsked] = useState(false)
  if (isAsked)
    return (
      <FormDialog
        text="esim.revoke"
        isDanger
        act={() => api.post('/v1/esim/revoke', { body: { token: code.token } })}
        onClose={() => setAsked(false)}
      />
    )
  return (
    <Dialog isOpen title={t('esim.code.title', { iccid: code.iccid_last4 })} onClose={onClose}>
      <div class="stack">
        {isOpen(code) ? (
          <Picture key={code.token} code={code} />
        ) : (
          <Notice>{word('esim.over', stateOf(code))}</Notice>
        )}
        {code.last_error === null ? null : (
          <Notice tone="warn">
            <Said>{code.last_error}</Said>
          </Notice>
        )}
        <FactsOf code={code} />
      </div>
      <Closing onClose={onClose}>
        {isOpen(code) ? (
          <>
            <Button onClick={() => setAsked(true)}>{t('esim.revoke')}</Button>
            <ButtonLink icon="printer" href={`/esim/cards?code=${code.token}`}>
              {t('esim.cards.print')}
            </ButtonLink>
          </>
        ) : null}
      </Closing>
    </Dialog>
  )
}

function Picture({ code }: { readonly code: Code }) {
  const [data, setData] = useState<Activation>()
  const read = useAction(() => api.get('/v1/esim/codes/{token}/qr', { path: { token: code.token } }), {
    onDone: (known) => setData(known as Activation), // of the answers the JSON
  })
  // Once: whoever reads it can take the profile, and what stands here can be scanned while the box is away.
  useEffect(() => void read.run(), [])
  if (data === undefined)
    return read.error === undefined ? (
      <Progress label={t('app.loading')} />
    ) : (
      <ErrorNotice error={read.error} onRetry={() => void read.run()} />
    )
  return (
    <>
      <OnlyHere text={data.activation_code}>{t('esim.code.here')}</OnlyHere>
      <QrCode text={data.qr_text} what={t('esim.code.title', { iccid: code.iccid_last4 })} />
      <p>
        <code>{data.activation_code}</code> <Copy text={data.activation_code} />
      </p>
      <p class="fine">{t('esim.code.secret')}</p>
      {code.confirmation_required ? (
        <p>
          {data.confirmation_code
            ? t('esim.confirmation.provider', { code: data.confirmation_code })
            : t('esim.confirmation.needed')}
        </p>
      ) : null}
    </>
  )
}

function FactsOf({ code }: { readonly code: Code }) {
  const { profile, provider, provider_cancel: cancel, batch_id: batch } = code
  return (
    <Facts
      facts={[
        [t('sims.filter.state'), word('esim.state', stateOf(code))],
        [
          t('esim.profile'),
          profile === null
            ? t('esim.profile.nowhere')
            : t('esim.profile.at', { state: word('esim.profile', profile.state), eid: profile.eid_last4 }),
        ],
        [t('esim.provider'), cancel === null ? provider : `${provider}, ${word('esim.cancel', cancel)}`],
        [t('esim.attempts'), t('esim.attempts.text', { attempts: code.attempts, downloads: code.downloads })],
        [t('sims.expires'), <Time at={code.expires_at} />],
        [t('sims.filter.batch_id'), batch && <a href={`/esim?batch_id=${batch}`}>{batch}</a>],
      ]}
    />
  )
}
