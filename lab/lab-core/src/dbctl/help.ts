/** What the tool prints when it is not told what to do: the commands of the stock tool, then those of this one. */
export const HELP: string = `open5gs-dbctl: Open5GS Database Configuration Tool (0.10.3)
FLAGS: --db_uri=mongodb://localhost
COMMANDS:
   add {imsi key opc}: adds a user to the database with default values
   add {imsi ip key opc}: adds a user to the database with default values and a IPv4 address for the UE
   addT1 {imsi key opc}: adds a user to the database with 3 differents apns
   addT1 {imsi ip key opc}: adds a user to the database with 3 differents apns and the same IPv4 address for the each apn
   remove {imsi}: removes a user from the database
   reset: WIPES OUT the database and restores it to an empty default
   static_ip {imsi ip4}: adds a static IP assignment to an already-existing user
   static_ip6 {imsi ip6}: adds a static IPv6 assignment to an already-existing user
   type {imsi type}: changes the PDN-Type of the first PDN: 1 = IPv4, 2 = IPv6, 3 = IPv4v6
   help: displays this message and exits
   add_ue_with_apn {imsi key opc apn}: adds a user to the database with a specific apn,
   add_ue_with_slice {imsi key opc apn sst sd}: adds a user to the database with a specific apn, sst and sd
   update_apn {imsi apn slice_num}: adds an APN to the slice number slice_num of an existent UE
   update_slice {imsi apn sst sd}: adds an slice to an existent UE
   showall: shows the list of subscriber in the db
   showpretty: shows the list of subscriber in the db in a pretty json tree format
   showfiltered: shows {imsi key opc apn ip} information of subscriber
   ambr_speed {imsi dl_value dl_unit ul_value ul_unit}: Change AMBR speed from a specific user and the  unit values are "[0=bps 1=Kbps 2=Mbps 3=Gbps 4=Tbps ]"
   subscriber_status {imsi subscriber_status_val={0,1} operator_determined_barring={0..8}}: Change TS 29.272 values for Subscriber-Status and Operator-Determined-Barring
   lbo_roaming_allowed {imsi allowed={true,false}}: lets the first PDN break out locally while roaming
  Beyond the stock tool, of this lab core alone:
   block {imsi}: puts the slices aside in suspended_slice and asks the HSS for a Cancel Location
   unblock {imsi}: puts the slices back
   set_sqn {imsi sqn}: sets the SQN where there is none
   cancel_location {imsi}: asks the HSS for a Cancel Location
   show {imsi}: shows one subscriber without its keys
   batch: reads commands from standard input, one JSON list of words a line; answers a JSON text a line
`
