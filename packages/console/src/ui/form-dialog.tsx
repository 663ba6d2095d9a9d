import type { Result } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useAction } from '../api/use-query.ts'
import { ConfirmDialog } from './dialog.tsx'

/** A form in a dialog that is drawn while it is open. */
export interface FormDialogProps<Data> {
  readonly title: string
  /** What the button says: the verb of what will be done. */
  readonly confirm: string
  /** What will be done, in a sentence. */
  readonly what: string
  /** Whether something that no field asks for by itself is to be chosen first. */
  readonly isDisabled?: boolean
  readonly act: () => Promise<Result<Data>>
  readonly onDone: (data: Data) => void
  readonly onClose: () => void
  /** The fields. */
  readonly children: ComponentChildren
}

/** Fields under a sentence, sent by one button; why it failed is said there, and nothing that was filled in is lost. */
export function FormDialog<Data>({
  title,
  confirm,
  what,
  isDisabled = false,
  act,
  onDone,
  onClose,
  children,
}: FormDialogProps<Data>) {
  const { run, isBusy, error } = useAction(act)
  const send = async (): Promise<void> => {
    const result = await run()
    if (result?.ok === true) onDone(result.data)
  }
  return (
    <ConfirmDialog
      isOpen
      title={title}
      confirm={confirm}
      isBusy={isBusy}
      isDisabled={isDisabled}
      error={error}
      onConfirm={() => void send()}
      onClose={onClose}
    >
      <p>{what}</p>
      <div class="stack">{children}</div>
    </ConfirmDialog>
  )
}
