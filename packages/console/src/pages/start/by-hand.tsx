import type { ComponentChildren } from 'preact'
import { may } from '../../api/session.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Lamp } from '../../ui/parts.tsx'
import { type Planned, useSettings, type Wanted } from './use-settings.ts'

const RELOAD = 'sudo systemctl reload steeple'

/** What a person has to write where the service may not, and that it is waited for. */
export function ByHand({ planned }: { readonly planned: Planned }) {
  const { file, lines, fixed } = planned
  return (
    <Notice tone="warn">
      {fixed.length > 0 ? (
        <ul>
          {fixed.map(({ key, by }) => (
            <li key={key}>{t('start.byHand.fixed', { key, by })}</li>
          ))}
        </ul>
      ) : (
        <>
          <p>{t('start.byHand', { file })}</p>
          <pre>{lines}</pre>
          <p>
            <Copy text={lines} />
          </p>
          <p>
            {t('settings.reload')} <code>{RELOAD}</code>
          </p>
        </>
      )}
      <Lamp tone="warn" label={t('start.byHand.waiting')} />
    </Notice>
  )
}

interface SetProps {
  /** Keys of the configuration, and what they become. */
  readonly settings: Wanted
  /** Where its words do not say enough. */
  readonly label?: string
  readonly children: ComponentChildren
}

/**
 * A button that writes keys into the configuration and applies them. Where the service may not write the file it shows the lines, and
 * sees when they count. Nothing for who may not.
 */
export function SetButton(props: SetProps) {
  return may('admin') ? <Form {...props} /> : null
}

function Form({ settings, label, children }: SetProps) {
  const form = useSettings()
  return (
    <>
      <Button
        isBusy={form.isBusy}
        {...(label === undefined ? {} : { label })}
        onClick={() => void form.save(settings)}
      >
        {children}
      </Button>
      <ErrorNotice error={form.error} />
      {form.byHand === undefined ? null : <ByHand planned={form.byHand} />}
    </>
  )
}
