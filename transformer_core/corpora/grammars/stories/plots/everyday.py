"""What can happen in any tale: somebody is introduced, somebody says thank you."""

from transformer_core.corpora.grammars.stories.world import deeds

DEEDS = deeds(
    """
    live
    needs: begin
    gives: told
      Once there was a {A.girl} named {+A} who lived [near the forest|by the sea|on a farm].
      In a little house [by the sea|near the forest|beside the mill] lived a {A.girl} named {+A}.
      There was once a {A.girl} named {+A} who lived [in a small village|at the edge of the village].

    thank
    needs: helped B A
      near B > "Thank you, {B.call}!" {A.said}.
      near B > "Thank you, {B.call}," {A.said} and hugged {B.him}.
      "What would I do without you!" {A.said} to {B.o}.
      {A} thanked {B.o} with all {A.his} heart.
      near B > {A} was so happy that {A.he} gave {B.o} a big hug.
      village B > {A} thanked {B.o} and shook {B.his} hand.
    """
)
