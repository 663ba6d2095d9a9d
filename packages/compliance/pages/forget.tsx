import {
  api,
  Button,
  Checkbox,
  Field,
  FormDialog,
  navigate,
  type Sim,
  t,
  useState,
} from '@steeple/console/kit'

/** Offers to erase what is known of the holder of a SIM. */
export function Panel({ sim }: { readonly sim: Sim }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('sim.forget')}</Button>
      {isOpen ? <ForgetDialog sim={sim} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

/** Erases what is known of the holder of a SIM, after its hash was typed. */
function ForgetDialog({ sim, onClose }: { readonly sim: Sim; readonly onClose: () => void }) {
  const hash = sim.imsi_sha256_12
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [isRevoking, setRevoking] = useState(false)
  const body = {
    ...(isRevoking ? { revoke: true } : {}),
    ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
  }
  return (
    <FormDialog
      text="sim.forget"
      isDanger
      isDisabled={typed.trim() !== hash || (sim.state !== 'revoked' && !isRevoking)}
      act={() => api.post('/v1/sims/{imsi}/forget', { path: { imsi: hash }, body })}
      done={({ waits_for: what }) =>
        what === null ? t('sim.forgotten') : t('sim.forgotten.waits', { what })
      }
      onDone={() => navigate('/sims')}
      onClose={onClose}
    >
      {sim.state === 'revoked' ? null : (
        <Checkbox text="sim.forget.revoke" isChecked={isRevoking} onChange={setRevoking} />
      )}
      <Field text="sim.forget.reason" maxLength={256} value={reason} onInput={setReason} />
      <Field label={t('sim.forget.type', { hash })} value={typed} onInput={setTyped} />
    </FormDialog>
  )
}
