import type { ComponentChildren } from 'preact'
import { may } from '../../api/session.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { ByHand } from './by-hand.tsx'
import { useSettings, type Wanted } from './use-settings.ts'

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
