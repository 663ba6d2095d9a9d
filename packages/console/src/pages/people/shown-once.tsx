import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { rolesText } from './roles.tsx'

interface ShownOnceProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** How it ends otherwise than by saying that it is kept. */
  readonly end?: ComponentChildren
}

/** Something that is shown now and never again: closed by saying that it is kept, and by nothing else without a question. */
export function ShownOnce({ title, onClose, children, end }: ShownOnceProps) {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [])
  return (
    <Dialog isOpen isFirm title={title} onClose={onClose}>
      <Notice tone="warn">{t('people.once')}</Notice>
      {children}
      <div class="actions">
        <Button onClick={() => print()}>{t('ui.print')}</Button>
        {end === undefined ? (
          <Button kind="primary" onClick={onClose}>
            {t('people.once.kept')}
          </Button>
        ) : null}
      </div>
      {end}
    </Dialog>
  )
}

/** A text to be taken along: to read, and to copy. */
export function Secret({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <p>
      <strong>{label}</strong>
      <br />
      <code>{text}</code> <Copy text={text} />
    </p>
  )
}

/** What a person needs to log in, as the service has drawn it. */
export interface Drawn {
  readonly name?: string
  readonly roles?: readonly string[]
  readonly password?: string
  readonly totp_uri: string
  readonly recovery_codes: readonly string[]
}

/** Password, authenticator and recovery codes of a person, shown once. */
export function DrawnCredentials({
  drawn,
  ...dialog
}: Pick<ShownOnceProps, 'onClose' | 'end'> & { readonly drawn: Drawn }) {
  return (
    <ShownOnce {...dialog} title={t('people.drawn', { name: drawn.name ?? '' })}>
      {drawn.roles === undefined ? null : (
        <p>
          <strong>{t('people.roles')}</strong>
          <br />
          {rolesText(drawn.roles)}
        </p>
      )}
      {drawn.password === undefined ? null : <Secret label={t('people.password')} text={drawn.password} />}
      <p>
        <strong>{t('people.authenticator')}</strong>
        <br />
        {t('people.authenticator.help')}
      </p>
      <QrCode text={drawn.totp_uri} what={t('people.authenticator')} />
      <p>
        <a href={drawn.totp_uri}>{t('people.authenticator.open')}</a>
      </p>
      <details>
        <summary>{t('people.authenticator.text')}</summary>
        <code>{drawn.totp_uri}</code>
      </details>
      <RecoveryCodes codes={drawn.recovery_codes} />
    </ShownOnce>
  )
}

/** Recovery codes, to copy all at once. */
export function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  return (
    <>
      <p>
        <strong>{t('people.recovery')}</strong>
        <br />
        {t('people.recovery.help')}
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <Copy text={codes.join('\n')} />
    </>
  )
}
